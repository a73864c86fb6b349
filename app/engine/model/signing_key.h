// Keys of signed packages: Ed25519 in PEM, as OpenSSL writes them.
//
//   openssl genpkey -algorithm ed25519 -out key.pem          # secret: dynrepl compile --sign key.pem
//   openssl pkey -in key.pem -pubout -out key.pub            # dynrepl run --verify-key key.pub
#pragma once

#include <string>

#include "compiler/export/package.h"
#include "compiler/support/result.h"

namespace dyn {

// Errors: fileError, fileFormat for what is no such key, or the other one of the pair.
Result<SigningSeed> readSigningKey(const std::string& path);
Result<VerifyKey> readVerifyKey(const std::string& path);

}  // namespace dyn
