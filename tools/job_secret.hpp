// Which secret the processes of a job were started with, for a command that is to look at it.
//
// Problem: `troupe run` makes a secret that stands in no file, and whoever then asks why the job stands still has not
// got it. Solution: a member that runs on this machine, and belongs to this user, has the name of the secret's file in
// its environment, beside a TF_CONFIG with the address that is to be asked.
#pragma once

#include <troupe/actors/messages/task.hpp>

#include <string>

namespace troupe::tools {

/// The file; empty if no such process is found.
std::string secret_file_of_job(const task_address& member);

}  // namespace troupe::tools
