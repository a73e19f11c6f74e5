// What troupe's checkpoints have in common, whichever strategy wrote them: the mark, the words, the careful reading.
#pragma once

#include <troupe/runtime/files/safetensors.hpp>

#include <cstdint>
#include <map>
#include <span>
#include <string>

namespace troupe {

/// Opens a checkpoint. @throws what safetensors_file throws; invalid_argument_error for a file that is no checkpoint.
safetensors_file open_checkpoint(const std::string& path);

/// Writes one, with the mark that open_checkpoint looks for.
void write_checkpoint(const std::string& path, std::span<const safetensors_entry> entries,
                      std::map<std::string, std::string> metadata);

/// @throws not_found_error for a variable that the file lacks; invalid_argument_error for another shape or dtype.
void check_saved(const safetensors_file& file, const std::string& name, dtype type, const shape& extents);

/// The metadata of a checkpoint.
std::map<std::string, std::string> with_mark(std::map<std::string, std::string> metadata);

/// A copy: a variable must not hold on to the file's pages, which change if somebody writes the file in place. The
/// pages of rows need not stay in memory.
tensor copy_of_rows(const safetensors_file& file, const std::string& name, std::int64_t begin, std::int64_t rows);
tensor copy_of_tensor(const safetensors_file& file, const std::string& name);

/// What the user gave along, without troupe's own words.
std::map<std::string, std::string> metadata_of_user(const safetensors_file& file);

}  // namespace troupe
