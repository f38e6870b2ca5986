// Files of torch.save (.pt, .pth, .bin) and pickle.dump, which are not read here.
#pragma once

#include <string>

namespace selfnorm {

// Whether a regular file is one of torch.save or pickle.dump.
bool is_pickle_file(const std::string& path);
// Throws DataError: what it is, and the line of Python that makes a file of it that is read here.
[[noreturn]] void refuse_pickle(const std::string& name);

}  // namespace selfnorm
