// One function per command; the result is the exit code. Each is in the file of its name.
#pragma once

#include "arguments.h"

namespace selfnorm::cli {

int train_classifier_command(const Arguments& arguments);
int train_lm_command(const Arguments& arguments);
int train_density_command(const Arguments& arguments);
int train_regressor_command(const Arguments& arguments);
int train_crf_command(const Arguments& arguments);
int tag_command(const Arguments& arguments);
int predict_command(const Arguments& arguments);
int sample_command(const Arguments& arguments);
int evaluate_command(const Arguments& arguments);
int score_command(const Arguments& arguments);
int info_command(const Arguments& arguments);
int audit_command(const Arguments& arguments);
int normalize_command(const Arguments& arguments);
int bounds_command(const Arguments& arguments);
int reproduce_command(const Arguments& arguments);
int report_command(const Arguments& arguments);
int data_generate_command(const Arguments& arguments);

}  // namespace selfnorm::cli
