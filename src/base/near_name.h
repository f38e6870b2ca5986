// What a misspelt word, or the name of a file that is not there, most likely stands for.
#pragma once

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

}  // namespace selfnorm
