// Policies: which version of an operator is to be taken, as the user says it:
// "conv=direct,matmul=auto<=59,k384r24-panels,loop=residues4".
#pragma once

#include <map>
#include <string>

#include "compiler/support/result.h"

namespace dyn {

using Policies = std::map<std::string, std::string>;  // conv, matmul or loop → version

// Error usageError: there is no such operator, or it has no such version.
Status checkPolicies(const Policies& policies);
// Error usageError: a product cannot be done so on the device, or on the host.
Status fitsDevice(const Policies& policies, DeviceKind device);
// "auto": none. A part after a comma that names no operator belongs to the version before it.
Result<Policies> parsePolicies(const std::string& text);
std::string textOf(const Policies& policies);

}  // namespace dyn
