// The figure trade_off of the section "Normalisation": nats per example lost against the rms of log Z
// allowed.
#pragma once

#include "audit/bounds/trade_off.h"
#include "document/document.h"
#include "family/classifier/normalize/retrain.h"

namespace selfnorm {

// Of a trained model: its path, the bounds of theory that are below what the uniform model loses, and the
// model as it is.
void add_trade_off(const TradeOff& trade_off, ReportDocument& document);

// Of a head that was retrained: every solution, where it started and what was chosen.
void add_trade_off(const RetrainResult& retraining, ReportDocument& document);

}  // namespace selfnorm
