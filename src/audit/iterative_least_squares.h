// Least squares of y on (1, x) where x has too many columns for their d x d moments: conjugate gradients on
// the normal equations (CGLS, Hestenes & Stiefel 1952). Iterates start at the
// mean and fit the strongest directions first, so stopping early is a regularisation.
#pragma once

#include <span>

#include "audit/least_squares.h"
#include "data/example_source.h"

namespace selfnorm {

// To convergence: the residual variance is V* of y = A. The rank is not computed but bounded, by the columns
// that vary and by rows - 1; the condition is not known and 0.
LinearFit iterative_fit(const ExampleSource& source, std::span<const double> y);

// What stopping early spares. standardised: units do not matter, and rare columns are fitted as early as
// frequent ones. natural: columns of small variance come late, so that the coefficient of what few rows have
// stays small; for columns in one unit, such as counts.
enum class ColumnScale { standardised, natural };

// Stopped where a held-out tenth of the rows is fitted best, with the intercept that fits them. rank and
// degrees_of_freedom are not known and 0.
LinearFit iterative_fit_for_prediction(const ExampleSource& source, std::span<const double> y,
                                       ColumnScale scale = ColumnScale::standardised);

}  // namespace selfnorm
