// The variants of kernels in words: "k768r12-panels" is what a policy writes, "blocks of 768 x 12 tiles,
// threads share columns" is what it means.
#pragma once

#include <QString>

namespace dyn::ui {

// Of what contraction::textOf writes, and of several, "; " between them. What has no words stays as it is.
//   "auto<=59,k384r24-panels" → "the cheapest up to 59 rows, then blocks of 384 × 24 tiles, threads share
//   columns"
QString variantWords(const QString& versions);

}  // namespace dyn::ui
