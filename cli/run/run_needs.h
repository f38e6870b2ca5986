// What a training will need, said before it starts, and what cannot be meant, refused before it starts.
#pragma once

#include <string>

#include "grammar/arguments.h"
#include "run/run_directory.h"

namespace selfnorm::cli {

struct RunNeeds {
  std::string what;                  // "3,039 classes x 205,112 features"
  double memory = 0;                 // bytes beside the data
  double checkpoint = 0, model = 0;  // bytes of the files
  double operations = 0;             // multiplications at most; 0: not known
  std::string advice;                // the options that make it less
};

// "needs about 5.6 GB of memory, ...". Throws Error when there is less memory or disk, unless --force.
std::string checked_needs(const Arguments& arguments, const RunDirectory& run, const RunNeeds& needs);

// Throws Error "FILE: DOUBT; if it is meant, --force trains" when there is a doubt, unless --force.
void refuse_doubtful(const RunArguments& given, const std::string& doubt);

}  // namespace selfnorm::cli
