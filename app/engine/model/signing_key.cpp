#include "app/engine/model/signing_key.h"

#include <algorithm>

#include "compiler/support/mapped_file.h"

namespace dyn {

namespace {

// What stands in DER before the 32 bytes of a key (RFC 8410).
constexpr std::string_view kSecretHead{"\x30\x2e\x02\x01\x00\x30\x05\x06\x03\x2b\x65\x70\x04\x22\x04\x20",
                                       16};
constexpr std::string_view kPublicHead{"\x30\x2a\x30\x05\x06\x03\x2b\x65\x70\x03\x21\x00", 12};
constexpr uint64_t kMostKeyFileBytes = 1 << 16;

// Without blanks and padding; "" where a letter is none of base64.
std::string fromBase64(std::string_view text) {
  constexpr std::string_view kLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string bytes;
  uint32_t bits = 0;
  int count = 0;
  for (char c : text) {
    if (c == '\n' || c == '\r' || c == ' ' || c == '=') continue;
    const size_t value = kLetters.find(c);
    if (value == std::string_view::npos) return "";
    bits = bits << 6 | static_cast<uint32_t>(value);
    if ((count += 6) < 8) continue;
    count -= 8;
    bytes += static_cast<char>(bits >> count & 0xFF);
  }
  return bytes;
}

// The key in "-----BEGIN KIND KEY-----"; "" if absent.
std::string keyIn(std::string_view text, const std::string& kind, std::string_view head) {
  const std::string begin = "-----BEGIN " + kind + " KEY-----", end = "-----END " + kind + " KEY-----";
  const size_t from = text.find(begin);
  if (from == std::string_view::npos) return "";
  const size_t to = text.find(end, from);
  if (to == std::string_view::npos) return "";
  const std::string der = fromBase64(text.substr(from + begin.size(), to - from - begin.size()));
  return der.size() == head.size() + 32 && der.compare(0, head.size(), head) == 0 ? der.substr(head.size())
                                                                                  : "";
}

template <typename Key>
Result<Key> readKey(const std::string& path, const std::string& kind, std::string_view head,
                    const std::string& how) {
  DYN_TRY(const MappedFile file, MappedFile::open(path));
  const std::string bytes = file.size() > kMostKeyFileBytes ? "" : keyIn(file.bytes(), kind, head);
  Key key{};
  if (bytes.size() != key.size())
    return makeError(
               DiagnosticId::fileFormat,
               path + " holds no " + (kind == "PRIVATE" ? "secret" : "public") + " key of Ed25519 in PEM",
               {.file = path})
        .note("make one: " + how);
  std::copy(bytes.begin(), bytes.end(), key.begin());
  return key;
}

}  // namespace

Result<SigningSeed> readSigningKey(const std::string& path) {
  return readKey<SigningSeed>(path, "PRIVATE", kSecretHead,
                              "openssl genpkey -algorithm ed25519 -out key.pem");
}

Result<VerifyKey> readVerifyKey(const std::string& path) {
  return readKey<VerifyKey>(path, "PUBLIC", kPublicHead, "openssl pkey -in key.pem -pubout -out key.pub");
}

}  // namespace dyn
