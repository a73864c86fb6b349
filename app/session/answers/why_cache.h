// The answer to `:why cache`: what each input and output of a decoder is for in :generate, and why.
#pragma once

#include "app/engine/model/signature.h"
#include "app/session/views/why_views.h"

namespace dyn {

// Errors: unsupportedFeature where the model is no decoder, with what is missing.
Result<WhyView> whyCache(const Signature& signature);

}  // namespace dyn
