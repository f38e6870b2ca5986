// What a misspelt word, or the name of a file that is not there, most likely stands for; and which file a
// line is of where several are read as one.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace selfnorm {

// The candidate of the least edit distance (insertions, deletions, substitutions), where that is at most a
// third of the length of the word and 1, and not all of its letters; otherwise empty. Of equally near ones
// the first.
std::string nearest(const std::string& word, const std::vector<std::string>& candidates);

// The end of a message about a path that does not exist: that there is no such file, and the file of its
// folder whose name is nearest; where none is near, or the folder does not exist, where paths start.
std::string missing_text(const std::string& path);

// Files that are read one after the other under one name: from this line of them all on (counted from 1) it
// is this line of the file. A new list begins with the first line.
void note_file_of(const std::string& name, uint64_t line, const std::string& file, uint64_t line_of_file);
// "part-2.csv:17" of line 1017 of part-*.csv; of a name that is one file: "NAME:LINE".
std::string place_text(const std::string& name, uint64_t line);

}  // namespace selfnorm
