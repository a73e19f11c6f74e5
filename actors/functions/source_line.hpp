// Where a function is written, for people: "job.cpp:41".
//
// Problem: a lambda has no name that says where it stands, and the compiler's name for it says no more than which
// function it is in. Solution: the debug information of the program knows the line of each instruction. It is read, by
// elfutils, when an error or a log line is to name a function: never on the way of a closure that succeeds.
//
// A program that was compiled without debug information (-g1 is enough), or stripped, has no lines. A linker that folds
// functions of equal code although somebody has their addresses (--icf=all) gives them one line.
#pragma once

#include <string>

namespace troupe {

/// File and line of the code at this address of this process; empty when they are unknown. Reads the program's file at
/// the first question (some 10 ms for one of 150 MB; 50 ms and more when it has to come from a disk), and again when
/// code has been loaded since. What was read and answered is kept. Any thread.
std::string source_line_of(const void* code);

}  // namespace troupe
