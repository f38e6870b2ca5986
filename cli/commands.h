// One function per command; the result is the exit code. Each is in the file of its name, beside what the
// command does for classifiers, heads and language models, or for the one family that has it.
#pragma once

#include <memory>

#include "grammar/arguments.h"
#include "run/training.h"

namespace selfnorm::cli {

int train_command(const Arguments& arguments);
int info_command(const Arguments& arguments);
int reproduce_command(const Arguments& arguments);
int report_command(const Arguments& arguments);
int launch_command(const Arguments& arguments);
int data_generate_command(const Arguments& arguments);

// The commands that do what the family of MODEL does: evaluate, score, audit, normalize, bounds, tag,
// predict, sample.
// Whether it has a model, and what it does.
bool is_model_command(const Arguments& arguments);
int model_command(const Arguments& arguments);
// Throws Error where MODEL is data, DATA is a model, or MODEL is a file of torch.save.
void check_model_and_data(const Arguments& arguments);

// Of the families, in the files of their names.
std::unique_ptr<Training> classifier_training(const Arguments& arguments);
std::unique_ptr<Training> language_training(const Arguments& arguments);
std::unique_ptr<Training> density_training(const Arguments& arguments);
std::unique_ptr<Training> regressor_training(const Arguments& arguments);
std::unique_ptr<Training> crf_training(const Arguments& arguments);
int evaluate_classifiers(const Arguments& arguments);
int evaluate_language_models(const Arguments& arguments);
int evaluate_densities(const Arguments& arguments);
int evaluate_regressors(const Arguments& arguments);
int evaluate_crfs(const Arguments& arguments);
int score_candidates(const Arguments& arguments);
int score_sentences(const Arguments& arguments);
int score_points(const Arguments& arguments);
int score_regressor(const Arguments& arguments);
int score_labellings(const Arguments& arguments);
int audit_classifier(const Arguments& arguments);
int audit_regressor(const Arguments& arguments);
int audit_crf_command(const Arguments& arguments);
int normalize_head(const Arguments& arguments);
int normalize_directory(const Arguments& arguments);  // of a checkpoint; called by the one above
int normalize_crf_command(const Arguments& arguments);
int bound_classifier(const Arguments& arguments);
int sample_points(const Arguments& arguments);
int sample_sentences(const Arguments& arguments);
int predict_labels(const Arguments& arguments);
int predict_words(const Arguments& arguments);
int predict_points(const Arguments& arguments);
int predict_targets(const Arguments& arguments);
int predict_tags(const Arguments& arguments);
int tag_sentences(const Arguments& arguments);
Json classifier_info(const Arguments& arguments);
Json density_info(const Arguments& arguments);
Json regressor_info(const Arguments& arguments);
Json crf_info(const Arguments& arguments);

}  // namespace selfnorm::cli
