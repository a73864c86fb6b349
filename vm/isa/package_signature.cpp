#include "vm/isa/package_signature.h"

#include <dlfcn.h>

#include <cstring>

namespace dyn::vm {
namespace {

// Weak: a statically linked program may have neither.
#pragma weak dlopen
#pragma weak dlsym

// Of libsodium 1.0.12 and later, whose binary interface has the number 23.
constexpr const char* kLibrary = "libsodium.so.23";
#define DYN_SODIUM_FUNCTIONS(row)                                                                           \
  row(int, sodium_init, (void)) row(void, sodium_memzero, (void* bytes, size_t size)) row(                  \
      size_t, crypto_sign_ed25519ph_statebytes, (void)) row(int, crypto_sign_ed25519ph_init, (void* state)) \
      row(int, crypto_sign_ed25519ph_update, (void* state, const uint8_t* bytes, unsigned long long size))  \
          row(int, crypto_sign_ed25519ph_final_create,                                                      \
              (void* state, uint8_t* signature, unsigned long long* size, const uint8_t* secret))           \
              row(int, crypto_sign_ed25519ph_final_verify,                                                  \
                  (void* state, const uint8_t* signature, const uint8_t* key))                              \
                  row(int, crypto_sign_ed25519_seed_keypair,                                                \
                      (uint8_t * key, uint8_t * secret, const uint8_t* seed))

struct Sodium {
#define DYN_SODIUM_MEMBER(result, name, arguments) result(*name) arguments = nullptr;
  DYN_SODIUM_FUNCTIONS(DYN_SODIUM_MEMBER)
#undef DYN_SODIUM_MEMBER
  std::string fault;
};

Sodium openSodium() {
  Sodium sodium;
  const std::string missing =
      "signatures need the library " + std::string(kLibrary) + " (package libsodium23), which ";
  void* library = dlopen && dlsym ? dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL) : nullptr;
  if (!library) {
    sodium.fault = missing + "was not found";
    return sodium;
  }
#define DYN_SODIUM_FIND(result, name, arguments)                              \
  sodium.name = reinterpret_cast<result(*) arguments>(dlsym(library, #name)); \
  if (!sodium.name) sodium.fault = missing + "has no " #name;
  DYN_SODIUM_FUNCTIONS(DYN_SODIUM_FIND)
#undef DYN_SODIUM_FIND
  if (sodium.fault.empty() && sodium.sodium_init() < 0) sodium.fault = missing + "could not be set up";
  return sodium;
}

const Sodium& sodium() {
  static const Sodium opened = openSodium();
  return opened;
}

Status available() {
  return sodium().fault.empty() ? okStatus() : failure(DYN_UNSUPPORTED, "unsupported: " + sodium().fault);
}

const uint8_t* bytesOf(const void* at) { return static_cast<const uint8_t*>(at); }

// Begins what is signed, so that a signature of anything else is none of a package.
constexpr std::string_view kPurpose{"Dyn package, format 1\0", 22};

class SignedMessage {
 public:
  SignedMessage() : state_(sodium().crypto_sign_ed25519ph_statebytes()) {
    sodium().crypto_sign_ed25519ph_init(state_.data());
    add(kPurpose);
  }
  void add(std::string_view bytes) {
    sodium().crypto_sign_ed25519ph_update(state_.data(), bytesOf(bytes.data()), bytes.size());
  }
  void* state() { return state_.data(); }

 private:
  std::vector<uint8_t> state_;
};

}  // namespace

std::string missingForSignatures() { return sodium().fault; }

std::string signedRow(const PackageSection& section) {
  std::string row(80, '\0');
  const auto kind = static_cast<uint64_t>(section.kind);
  for (size_t i = 0; i < 8; ++i) {
    row[i] = static_cast<char>(kind >> (8 * i));
    row[8 + i] = static_cast<char>(section.sizeBytes >> (8 * i));
  }
  section.name.copy(row.data() + 16, 63);
  return row;
}

Status signPieces(std::span<const std::string_view> pieces, const SigningSeed& seed, std::string& signature) {
  if (Status status = available(); !status.ok()) return status;
  SignedMessage message;
  for (std::string_view piece : pieces) message.add(piece);
  uint8_t made[kSignatureBytes], secret[64];
  unsigned long long size = 0;
  sodium().crypto_sign_ed25519_seed_keypair(made, secret, seed.data());
  const int fault = sodium().crypto_sign_ed25519ph_final_create(message.state(), made + 32, &size, secret);
  sodium().sodium_memzero(secret, sizeof secret);
  if (fault != 0 || size != kSignatureBytes - 32) return failure(DYN_INTERNAL, "no signature was made");
  signature.assign(reinterpret_cast<const char*>(made), sizeof made);
  return okStatus();
}

Status verifySignature(const void* bytes, const std::vector<PackageSection>& sections, const VerifyKey& key) {
  if (Status status = available(); !status.ok()) return status;
  const PackageSection* signature = nullptr;
  for (const PackageSection& section : sections) {
    if (section.name != kSignatureSection) continue;
    if (signature || section.kind != SectionKind::other || section.sizeBytes != kSignatureBytes)
      return failure(DYN_BAD_PROGRAM, "the package's signature is damaged");
    signature = &section;
  }
  if (!signature)
    return failure(DYN_BAD_PROGRAM,
                   "the package is not signed, and a key is given that it is to be signed by");
  const uint8_t* made = bytesOf(bytes) + signature->offset;
  if (memcmp(made, key.data(), key.size()) != 0)
    return failure(DYN_BAD_PROGRAM, "the package is signed by another key than the one that is given");
  SignedMessage message;
  for (const PackageSection& section : sections) {
    if (&section == signature) continue;
    message.add(signedRow(section));
    message.add({static_cast<const char*>(bytes) + section.offset, section.sizeBytes});
  }
  if (sodium().crypto_sign_ed25519ph_final_verify(message.state(), made + 32, key.data()) != 0)
    return failure(DYN_BAD_PROGRAM,
                   "the package is not as it was signed: it was changed, or the signature was");
  return okStatus();
}

}  // namespace dyn::vm
