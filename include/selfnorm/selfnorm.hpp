// The public C++ interface; docs/guide/cpp.md.
#pragma once

#include "selfnorm/audit.h"
#include "selfnorm/checkpoint.h"
#include "selfnorm/classifier.h"
#include "selfnorm/crf.h"
#include "selfnorm/density.h"
#include "selfnorm/error.h"
#include "selfnorm/head.h"
#include "selfnorm/language_model.h"
#include "selfnorm/load.h"
#include "selfnorm/option_list.h"
#include "selfnorm/options.h"
#include "selfnorm/progress.h"
#include "selfnorm/regressor.h"
#include "selfnorm/rows.h"
#include "selfnorm/run.h"
