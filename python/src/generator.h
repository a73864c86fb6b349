// A dyn_generator for Python: prompts in, tokens out.
#ifndef DYN_PYTHON_GENERATOR_H
#define DYN_PYTHON_GENERATOR_H

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "dyn_generate.h"
#include "model.h"
#include "python_objects.h"

namespace dynpython {

// How the next tokens of a prompt are chosen and end, as in dyn_prompt.
struct Sampling {
  double temperature = 0, topP = 0, repetitionPenalty = 0;
  int64_t topK = 0;
  uint64_t seed = 0, stream = 0;
  bool ignoresEndTokens = false;
  int32_t beams = 1;
  double lengthPenalty = 1;
  bool stopsEarly = false;
};

// A value that is the same in all steps, as in dyn_generator_input; `bytes` are row-major.
struct GivenInput {
  std::string name;
  int32_t dtype = 0;
  std::vector<int64_t> shape;
  nb::bytes bytes;
};

class Generator {
 public:
  Generator(Model& model, const std::optional<std::string>& tokenizer, int32_t maxBatch,
            const std::vector<GivenInput>& inputs, const std::vector<std::string>& ports,
            int32_t promptLookup, int32_t prefillChunk);
  ~Generator();
  Generator(const Generator&) = delete;
  Generator& operator=(const Generator&) = delete;

  // Of a text or of ids; the number of its sequence. hook(tokens, scores), with memoryviews of int64 and of
  // float32 to change, which live for the call; None: there is none.
  int64_t submit(const std::optional<std::string>& text, const std::vector<int64_t>& ids, int64_t maxNew,
                 const std::vector<std::string>& stops, const std::vector<int64_t>& stopIds,
                 const Sampling& sampling, nb::object hook);
  // (sequence, id or -1, text, end, status, its text, message, score); None: nothing is under way. Ctrl-C
  // while it waits ends all sequences. An exception of a hook goes on from here.
  nb::object next();
  void cancel(int64_t sequence) { dyn_generator_cancel(generator_, sequence); }
  void interrupt() { dyn_generator_interrupt(generator_); }
  std::string sharing() const { return dyn_generator_sharing(generator_); }
  nb::dict statistics();

 private:
  struct Hook {
    Generator* owner = nullptr;
    nb::object call;
  };
  static dyn_status score(void* user, int64_t sequence, const int64_t* tokens, size_t tokenCount,
                          float* scores, size_t scoreCount);

  dyn_generator* generator_ = nullptr;
  // With the interpreter's lock.
  std::map<int64_t, std::unique_ptr<Hook>> hooks_;  // of sequences that have not ended
  std::unique_ptr<nb::python_error> raised_;        // by a hook in this step
};

}  // namespace dynpython

#endif
