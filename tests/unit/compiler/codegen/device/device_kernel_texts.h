// Loop kernels that several tests of device code begin with.
#pragma once

#include <string>

namespace dyn::test {

inline constexpr const char* kGeluText =
    R"(kernel @gelu(in x: f32[n, m], out y: f32[n, m]) scalars (n; m) units u < n steps (m*n) {
  for i < m vector {
    y[u, i] = 0.5 * x[u, i] * (1.0 + erf(x[u, i] * 0.70710678))
  }
}
)";

inline constexpr const char* kSoftmaxText =
    R"(kernel @softmax(in x: f32[n, m], out y: f32[n, m]) scalars (n; m) units u < n steps (m*n) {
  accumulate top: f32 = maximum over j < m vector {
    x[u, j]
  }
  accumulate total: f32 = sum over k < m vector {
    exp(x[u, k] - top)
  }
  for i < m vector {
    y[u, i] = exp(x[u, i] - top) / total
  }
}
)";

inline constexpr const char* kProductText =
    R"(kernel @product(in x: f32[n, k], in w: f32[k, 64], out y: f32[n, 64]) scalars (n; k) units u < n steps (64*k*n) {
  for e < 64 vector {
    accumulate s: f32 = sum over j < k vector {
      x[u, j] * w[j, e]
    }
    y[u, e] = s
  }
}
)";

inline constexpr const char* kScratchText =
    R"(kernel @kept(in x: f32[n, 64], out y: f32[n, 64]) scalars (n) units u < n steps (64*n) {
  scratch t: f32[64]
  for i < 64 vector {
    t[i] = x[u, i] * 2.0
  }
  for q < 64 vector {
    y[u, q] = t[63 - q]
  }
}
)";

inline constexpr const char* kRunningText =
    R"(kernel @running(in x: f32[n, m], out y: f32[n, m]) scalars (n; m) units u < n steps (2*m*n) {
  scratch acc: f32[1]
  acc[0] = 0.0
  for k < m {
    acc[0] = acc[0] + x[u, k]
    y[u, k] = acc[0]
  }
}
)";

inline constexpr const char* kGatherText =
    R"(kernel @gather(in x: f32[n, m], in i: i64[q], out y: f32[q, m]) scalars (n; m; q) units u < q steps (m*q) {
  let at: i64 = i[u]
  check 0 <= at && at < n fault 1
  for j < m vector {
    y[u, j] = x[at, j]
  }
}
)";

// softmax(q w) v of heads of that length. What is not f32 in memory is widened, and so are the shares, which
// are rounded.
inline std::string attentionText(int head, const std::string& element = "f32") {
  std::string text =
      R"(kernel @attention(in q: TYPE[m, HEAD], in w: TYPE[n, HEAD], in v: TYPE[n, HEAD], out y: TYPE[m, HEAD]) scalars (m; n) units u < m steps (m*n) {
  accumulate top: f32 = maximum over j < n vector {
    accumulate s: f32 = sum over k < HEAD vector {
      WIDE(q[u, k]) * WIDE(w[j, k])
    }
    WIDE(KEPT(s))
  }
  accumulate total: f32 = sum over j_1 < n vector {
    accumulate s_1: f32 = sum over k_1 < HEAD vector {
      WIDE(q[u, k_1]) * WIDE(w[j_1, k_1])
    }
    exp(WIDE(KEPT(s_1)) - top)
  }
  for e < HEAD vector {
    accumulate z: f32 = sum over j_2 < n vector {
      accumulate s_2: f32 = sum over k_2 < HEAD vector {
        WIDE(q[u, k_2]) * WIDE(w[j_2, k_2])
      }
      WIDE(KEPT(exp(WIDE(KEPT(s_2)) - top) * (1.0 / total))) * WIDE(v[j_2, e])
    }
    y[u, e] = KEPT(z)
  }
}
)";
  const auto replace = [&](const std::string& what, const std::string& by) {
    for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + by.size()))
      text.replace(at, what.size(), by);
  };
  replace("HEAD", std::to_string(head));
  replace("TYPE", element);
  replace("WIDE", element == "f32" ? "" : "f32");
  replace("KEPT", element == "f32" ? "" : element);
  return text;
}

}  // namespace dyn::test
