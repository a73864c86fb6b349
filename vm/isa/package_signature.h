// Ed25519 signatures of packages. A signed package has one more section, "signature.ed25519": the public key
// and the signature of all that the other sections hold, with their kinds, names and sizes, so that nothing
// of a package can be changed, taken away or put in. It is Ed25519ph (RFC 8032, over SHA-512): weights of any
// size are read once and need no memory. The library is libsodium, opened when a signature is made or
// checked.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "vm/base/status.h"
#include "vm/isa/package.h"

namespace dyn::vm {

using SigningSeed = std::array<uint8_t, 32>;  // the secret key of RFC 8032
using VerifyKey = std::array<uint8_t, 32>;

inline constexpr std::string_view kSignatureSection = "signature.ed25519";
inline constexpr uint64_t kSignatureBytes = 32 + 64;

// What is signed of a section that is not the signature: its row, then its contents.
std::string signedRow(const PackageSection& section);

// The contents of the signature section. Errors: unsupported without libsodium.
Status signPieces(std::span<const std::string_view> pieces, const SigningSeed& seed, std::string& signature);

// `bytes` is the package whose table was read. Errors: badProgram where it is not signed, not by this key, or
// not as it was signed; unsupported without libsodium.
Status verifySignature(const void* bytes, const std::vector<PackageSection>& sections, const VerifyKey& key);

// What is missing for signatures; "" when nothing is.
std::string missingForSignatures();

}  // namespace dyn::vm
