#include "selfnorm/proposal/proposal.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "selfnorm/base/error.h"
#include "selfnorm/proposal/log_uniform.h"
#include "selfnorm/proposal/uniform.h"
#include "selfnorm/proposal/unigram.h"

namespace selfnorm {

std::vector<std::string> proposal_names() { return {"uniform", "unigram", "log-uniform"}; }

std::vector<std::string> noise_names() {
  std::vector<std::string> names = proposal_names();
  names.emplace_back("in-batch");
  return names;
}

std::unique_ptr<Proposal> make_proposal(const std::string& name, std::span<const uint64_t> counts,
                                        double power) {
  SELFNORM_CHECK(!counts.empty());
  if (name == "uniform") return std::make_unique<Uniform>(static_cast<uint32_t>(counts.size()));
  if (name == "unigram") return std::make_unique<Unigram>(counts, power);
  if (name == "log-uniform") return std::make_unique<LogUniform>(counts);
  throw Error(
      fmt::format("noise '{}' is not known; expected one of {}", name, fmt::join(proposal_names(), ", ")));
}

}  // namespace selfnorm
