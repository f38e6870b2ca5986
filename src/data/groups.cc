#include "groups.h"

#include <fmt/format.h>

#include <algorithm>

namespace selfnorm {

void Groups::row(uint64_t qid, uint64_t line, bool chosen) {
  if (!open_ || qid != qid_) {
    close();
    open_ = true;
    qid_ = qid;
    line_ = line;
    chosen_ = 0;
    choice_ = Dataset::kNoTarget;
    spoilt_ = spoil_next_ || spoilt_qid_ == qid;
    spoilt_qid_.reset();
    if (!seen_.insert(qid).second) {
      bad_.add(
          line,
          fmt::format("found qid:{} again after other groups, expected the rows of a group together", qid));
      spoilt_ = true;
    }
  }
  spoil_next_ = false;
  if (chosen) {
    ++chosen_;
    choice_ = static_cast<uint32_t>(rows_ - begin_.back());
  }
  ++rows_;
}

void Groups::bad_row(std::optional<uint64_t> qid) {
  bool belongs = open_ && (!qid || *qid == qid_);
  spoilt_ = spoilt_ || belongs;
  spoil_next_ = !qid;
  if (qid && !belongs) spoilt_qid_ = qid;
}

void Groups::close() {
  if (!open_) return;
  if (!spoilt_ && (chosen_ > 1 || (chosen_ == 0 && require_choice_))) {
    bad_.add(line_, fmt::format(
                        "found {} chosen alternatives (target > 0) in the group qid:{}, expected exactly one",
                        chosen_, qid_));
    spoilt_ = true;
  }
  if (spoilt_) dropped_.push_back(target_.size());
  begin_.push_back(rows_);
  target_.push_back(choice_);
  open_ = false;
}

std::vector<uint64_t> Groups::finish(Dataset& data) {
  close();
  data.group_begin = std::move(begin_);
  data.target = std::move(target_);
  if (dropped_.empty()) return {};
  std::vector<uint64_t> kept;
  for (uint64_t g = 0; g < data.examples(); ++g)
    if (!std::binary_search(dropped_.begin(), dropped_.end(), g)) kept.push_back(g);
  data = subset(data, kept);
  return std::move(dropped_);
}

}  // namespace selfnorm
