#include "app/engine/model/scratch_program.h"

#include "compiler/infer/infer_functions.h"

namespace dyn {

namespace {

// A copy is used for so many questions, or until it has grown to twice its size and these.
constexpr int64_t kMostQuestions = 200;
constexpr uint32_t kMostAdded = 10'000;

}  // namespace

DimOrigins& ScratchCopy::origins() {
  if (!origins_) origins_ = std::make_unique<DimOrigins>(module);
  return *origins_;
}

bool ScratchProgram::worn() const {
  return questionsCount_ >= kMostQuestions ||
         copy_->ir->dims().symbolCount() > 2 * symbolsCount_ + kMostAdded ||
         copy_->ir->valueCount() > 2 * valuesCount_ + kMostAdded;
}

ScratchCopy& ScratchProgram::copy() {
  if (!copy_ || worn()) {
    auto fresh = std::make_unique<ScratchCopy>();
    fresh->ir = std::make_shared<IrContext>();
    fork_ = std::make_unique<IrFork>(*original_.context, *fresh->ir);
    fresh->module = fork_->module(original_);
    copy_ = std::move(fresh);
    factsCount_ = 0;
    questionsCount_ = 0;
    symbolsCount_ = copy_->ir->dims().symbolCount();
    valuesCount_ = copy_->ir->valueCount();
  }
  takeFacts();
  ++questionsCount_;
  return *copy_;
}

// Runs add what they observe. Facts that held together hold together here.
void ScratchProgram::takeFacts() {
  const std::vector<Fact>& facts = original_.context->facts().facts();
  for (; factsCount_ < facts.size(); ++factsCount_) {
    Fact fact = facts[factsCount_];
    fact.a = fork_->dim(fact.a);
    fact.b = fork_->dim(fact.b);
    (void)addFact(&copy_->ir->facts(), fact);
  }
}

}  // namespace dyn
