// Sizes that a user's numbers ask for, refused before they are taken: the system grants more than it has.
#pragma once

#include <cstdint>
#include <string>

namespace selfnorm {

// What this process may still take: what the machine has, or less by limits (RLIMIT_AS, control group).
uint64_t memory_limit();

// Throws Error "WHAT need 3.2 GB, but there are 1.0 GB; ADVICE" when bytes exceed memory_limit(). A product
// that may overflow is passed as double.
void require_memory(double bytes, const std::string& what, const std::string& advice);

}  // namespace selfnorm
