/* selfnorm runtime, regressors and densities: opens what 'selfnorm train regressor' and 'train density' wrote
 * and predicts with it. C11; needs only the C and C++ standard libraries, as selfnorm.h does.
 *
 * A regressor gives p(y|x) of one target: log p(y|x) = s(x, y) - b(x) (SELFNORM_RAW, one run of the networks)
 * or s(x, y) - A(x) (SELFNORM_EXACT, A by quadrature). Mean and quantiles are those of the exact density.
 * A density gives log p(x) = s(x) - b, with the b that is stored.
 * Log-densities agree with those of the program to 1e-4 nats, quantiles to 1e-3 of a standard deviation.
 *
 * An open model is constant: any number of threads may use it at once, each with a workspace of its own. No
 * call after selfnorm_table_open* allocates memory. Failures: as in selfnorm.h.
 */
#ifndef SELFNORM_TABLE_H
#define SELFNORM_TABLE_H

#include "selfnorm.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct selfnorm_table selfnorm_table;

/* A model file, or a run directory; or a model in memory (aligned to 8 bytes), which is not copied and must
 * outlive it. SELFNORM_ERROR_FORMAT also for what this runtime does not have, which the message names:
 * TorchScript modules, regressors of several targets, of intervals or of counts; densities of levels, angles
 * and exponential families. */
SELFNORM_API selfnorm_status selfnorm_table_open(const char* path, selfnorm_table** model);
SELFNORM_API selfnorm_status selfnorm_table_open_memory(const void* data, size_t size,
                                                        selfnorm_table** model);
SELFNORM_API void selfnorm_table_close(selfnorm_table* model); /* null is allowed */

SELFNORM_API int selfnorm_table_is_regressor(const selfnorm_table* model); /* 1; 0: a density */

/* The columns of x in their order: those that a regressor reads (those it left out in training are not among
 * them), all of a density. A name is not NUL-terminated, and null where the model has none. */
SELFNORM_API size_t selfnorm_table_columns(const selfnorm_table* model);
SELFNORM_API const char* selfnorm_table_column(const selfnorm_table* model, size_t column, size_t* length);

/* How a text stands in x: 1, 2, ... of a category of this column, 0 of one that training did not have, NAN of
 * a column of numbers. A missing value is NAN in any column. */
SELFNORM_API double selfnorm_table_level(const selfnorm_table* model, size_t column, const char* text,
                                         size_t length);

/* The bytes of memory that the calls below take as `workspace`, at any address; of one thread at a time. */
SELFNORM_API size_t selfnorm_table_workspace(const selfnorm_table* model);

/* Density: *out = log p(x); -INFINITY where there is no density. */
SELFNORM_API selfnorm_status selfnorm_table_log_density(const selfnorm_table* model, const double* x,
                                                        size_t columns, void* workspace, size_t bytes,
                                                        double* out);

/* Regressor: *out = log p(y|x), SELFNORM_RAW or SELFNORM_EXACT; -INFINITY outside the support. */
SELFNORM_API selfnorm_status selfnorm_table_log_density_of(const selfnorm_table* model, const double* x,
                                                           size_t columns, double y, int kind,
                                                           void* workspace, size_t bytes, double* out);

typedef struct selfnorm_prediction {
  double mean, deviation;
} selfnorm_prediction;

/* Regressor: mean and standard deviation of p(y|x), and quantiles[i] at levels[i] (0 < level < 1), i < n. */
SELFNORM_API selfnorm_status selfnorm_table_predict(const selfnorm_table* model, const double* x,
                                                    size_t columns, const double* levels, size_t n,
                                                    void* workspace, size_t bytes,
                                                    selfnorm_prediction* prediction, double* quantiles);

#ifdef __cplusplus
}
#endif

#endif
