// Which secret or certificate a process of a job was started with, for a command that is to look at the job.
//
// Problem: `troupe run` makes those that stand in no file, and whoever then asks why the job stands still has not got
// them. Solution: a member that runs on this machine, and belongs to this user, has their names in its environment,
// beside a TF_CONFIG with the address that is to be asked.
#pragma once

#include <troupe/actors/messages/task.hpp>
#include <troupe/runtime/door/credentials.hpp>

namespace troupe::tools {

/// The files of the first process of this user that has some; none if there is no such process. Processes of other
/// users are not asked, also not by root.
credential_files credentials_of_job(const task_address& member);

}  // namespace troupe::tools
