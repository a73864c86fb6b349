#include "app/engine/generate/decoder_ports.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "app/engine/generate/generation.h"

namespace dyn {
namespace {

using testing::HasSubstr;

Port port(const std::string& name, Dtype dtype, std::vector<std::string> shape) {
  Port made;
  made.info.name = name;
  made.info.kind = "tensor";
  made.info.shape = std::move(shape);
  made.info.type = "Tensor";
  made.dtype = dtype;
  return made;
}

Signature cached(const std::string& past, const std::string& present) {
  Signature signature;
  signature.inputs = {port("input_ids", Dtype::i64, {"batch", "seq"}),
                      port(past, Dtype::f32, {"batch", "2", "past", "16"})};
  signature.outputs = {port("logits", Dtype::f32, {"batch", "seq", "99"}),
                       port(present, Dtype::f32, {"batch", "2", "past + seq", "16"})};
  return signature;
}

std::string faultOf(const Signature& signature) {
  const Result<DecoderPorts> ports = decoderPorts(signature);
  EXPECT_FALSE(ports.ok());
  return ports.ok() ? "" : ports.error().message;
}

TEST(DecoderPorts, CachesArePairedByTheirNames) {
  for (const auto& [past, present] :
       std::vector<std::pair<std::string, std::string>>{{"past_key_0", "present_key_0"},
                                                        {"past_key_values.0.key", "present.0.key"},
                                                        {"past_key_values.0.key", "present_key_values.0.key"},
                                                        {"past", "present"}}) {
    const Result<DecoderPorts> ports = decoderPorts(cached(past, present));
    ASSERT_TRUE(ports.ok()) << ports.error().message;
    ASSERT_EQ(ports->caches.size(), 1U);
    EXPECT_EQ(ports->caches[0].input, 1U);
    EXPECT_EQ(ports->caches[0].output, 1U);
    EXPECT_EQ(ports->caches[0].axis, 2U);
    EXPECT_EQ(ports->batch, "batch");
  }
  EXPECT_THAT(faultOf(cached("past_key_0", "present_value_0")), HasSubstr("continues the cache past_key_0"));
}

TEST(DecoderPorts, TheAxisThatGrowsIsTheOneThatChanges) {
  Signature signature = cached("past_0", "present_0");
  signature.inputs[1].info.shape = {"batch", "heads", "past", "16"};
  signature.outputs[1].info.shape = {"batch", "heads", "total", "16"};
  const Result<DecoderPorts> ports = decoderPorts(signature);
  ASSERT_TRUE(ports.ok()) << ports.error().message;
  EXPECT_EQ(ports->caches[0].axis, 2U);
  signature.outputs[1].info.shape = {"batch", "more", "total", "16"};
  EXPECT_THAT(faultOf(signature), HasSubstr("more than one axis grows"));
  signature.inputs[1].info.shape = signature.outputs[1].info.shape = {"batch", "2", "64", "16"};
  EXPECT_THAT(faultOf(signature), HasSubstr("caches of a fixed length"));
}

TEST(DecoderPorts, TheFirstAxisIsThatOfSequencesWhateverItsName) {
  Signature signature = cached("past_0", "present_0");
  signature.inputs[1].info.shape = {"?1", "2", "?2", "16"};
  signature.outputs[1].info.shape = {"?3", "2", "?4", "16"};
  const Result<DecoderPorts> ports = decoderPorts(signature);
  ASSERT_TRUE(ports.ok()) << ports.error().message;
  EXPECT_EQ(ports->caches[0].axis, 2U);
  EXPECT_TRUE(ports->isRowAxis(0, "?1"));
  EXPECT_TRUE(ports->isRowAxis(1, "batch"));
  EXPECT_FALSE(ports->isRowAxis(0, "1"));
}

TEST(DecoderPorts, MaskPositionsAndTypesAreKnown) {
  Signature signature = cached("past_0", "present_0");
  signature.inputs.push_back(port("attention_mask", Dtype::i64, {"batch", "past + seq"}));
  signature.inputs.push_back(port("position_ids", Dtype::i64, {"batch", "seq"}));
  signature.inputs.push_back(port("token_type_ids", Dtype::i64, {"batch", "seq"}));
  signature.inputs.push_back(port("use_cache_branch", Dtype::boolean, {"1"}));
  const Result<DecoderPorts> ports = decoderPorts(signature);
  ASSERT_TRUE(ports.ok()) << ports.error().message;
  EXPECT_EQ(ports->mask, 2U);
  EXPECT_EQ(ports->positions, 3U);
  EXPECT_EQ(ports->types, 4U);
  EXPECT_EQ(ports->cacheSwitch, 5U);
  signature.inputs.push_back(port("encoder_hidden_states", Dtype::f32, {"batch", "n", "8"}));
  EXPECT_THAT(faultOf(signature), HasSubstr("encoder_hidden_states"));
}

TEST(DecoderPorts, OtherNamesAreTakenWhereThereIsNoChoice) {
  Signature signature = cached("past_0", "present_0");
  signature.inputs[0].info.name = "x";
  signature.outputs[0].info.name = "y";
  EXPECT_TRUE(decoderPorts(signature).ok());
  signature.outputs.push_back(port("z", Dtype::f32, {"batch", "seq", "99"}));
  EXPECT_THAT(faultOf(signature), HasSubstr("several outputs"));
  signature.outputs[0].info.name = "logits";
  EXPECT_TRUE(decoderPorts(signature).ok());
  signature.inputs[0].info.shape[0] = "4";
  EXPECT_THAT(faultOf(signature), HasSubstr("a batch of 4"));
  signature.inputs[0].dtype = Dtype::f32;
  EXPECT_THAT(faultOf(signature), HasSubstr("no input takes ids"));
}

TEST(DecoderPorts, WithoutCachesTheScoresAreCalledLogits) {
  Signature signature;
  signature.inputs = {port("x", Dtype::i32, {"seq"})};
  signature.outputs = {port("last_hidden_state", Dtype::f16, {"seq", "99"})};
  EXPECT_THAT(faultOf(signature), HasSubstr("no output has scores"));  // an encoder
  signature.outputs[0].info.name = "logits";
  const Result<DecoderPorts> ports = decoderPorts(signature);
  ASSERT_TRUE(ports.ok()) << ports.error().message;
  EXPECT_FALSE(ports->hasBatch);
}

TEST(Batches, PromptsOfEqualLengthsShareStepsOthersWhereAMaskTellsThemApart) {
  GenerationRequest request;
  request.prompts = {{1}, {1, 2}, {3}, {4, 5}, {6}};
  request.maxBatch = 2;
  DecoderPorts ports;
  ports.batch = "batch";
  EXPECT_EQ(batchesOf(request, ports), (std::vector<std::vector<size_t>>{{0, 2}, {1, 3}, {4}}));
  ports.mask = 1;
  ports.positions = 2;
  EXPECT_EQ(batchesOf(request, ports), (std::vector<std::vector<size_t>>{{0, 1}, {2, 3}, {4}}));
  ports.batch.clear();
  EXPECT_EQ(batchesOf(request, ports).size(), 5U);
}

}  // namespace
}  // namespace dyn
