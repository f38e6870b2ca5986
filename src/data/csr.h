// SciPy's sparse matrix in an npz file (scipy.sparse.save_npz).
#pragma once

#include "selfnorm/data/array_file.h"
#include "selfnorm/data/dataset.h"

namespace selfnorm {

// Row r has columns indices[indptr[r] .. indptr[r+1]) and the values of `data` there. Throws DataError.
Features csr_features(const ArrayFile& file);

}  // namespace selfnorm
