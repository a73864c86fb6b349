#include "app/engine/generate/decoder_ports.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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
  const Result<DecoderPorts> fixed = decoderPorts(signature);
  ASSERT_TRUE(fixed.ok()) << fixed.error().message;
  EXPECT_EQ(fixed->caches[0].kind, CacheKind::state);
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

TEST(DecoderPorts, ASizeThatTheOutputKnowsDoesNotGrow) {
  Signature signature = cached("past_0", "present_0");
  signature.inputs[1].info.shape = {"batch", "2", "past", "kv_cache_dim"};
  signature.outputs[1].info.shape = {"batch", "2", "max(past, total)", "16"};
  const Result<DecoderPorts> ports = decoderPorts(signature);
  ASSERT_TRUE(ports.ok()) << ports.error().message;
  EXPECT_EQ(ports->caches[0].axis, 2U);
}

TEST(DecoderPorts, ACacheAsLongAsWhatAnEncoderGivesIsMadeOnce) {
  Signature signature = cached("past_key_values.0.decoder.key", "present.0.decoder.key");
  signature.inputs.push_back(
      port("past_key_values.0.encoder.key", Dtype::f32, {"batch", "2", "source", "16"}));
  signature.outputs.push_back(port("present.0.encoder.key", Dtype::f32, {"?0", "2", "?1", "16"}));
  signature.inputs.push_back(port("encoder_hidden_states", Dtype::f32, {"batch", "source", "8"}));
  signature.inputs.push_back(port("encoder_attention_mask", Dtype::i64, {"batch", "source"}));
  EXPECT_THAT(faultOf(signature), HasSubstr("encoder_hidden_states"));
  const Result<DecoderPorts> ports = decoderPorts(signature, {.given = {"encoder_hidden_states"}});
  ASSERT_TRUE(ports.ok()) << ports.error().message;
  ASSERT_EQ(ports->caches.size(), 2U);
  EXPECT_EQ(ports->caches[0].kind, CacheKind::growing);
  EXPECT_EQ(ports->caches[1].kind, CacheKind::cross);
  EXPECT_EQ(ports->sourceMask, 4U);
  EXPECT_EQ(ports->given, std::vector<size_t>{3});
}

TEST(DecoderPorts, WhatIsLeftIsPairedInOrderWhereAllTypesFit) {
  Signature signature = cached("k", "a");
  signature.inputs.push_back(port("v", Dtype::f32, {"batch", "2", "past", "16"}));
  signature.outputs.push_back(port("b", Dtype::f32, {"batch", "2", "past + seq", "16"}));
  const Result<DecoderPorts> ports = decoderPorts(signature);
  ASSERT_TRUE(ports.ok()) << ports.error().message;
  ASSERT_EQ(ports->caches.size(), 2U);
  EXPECT_EQ(ports->caches[1].input, 2U);
  EXPECT_EQ(ports->caches[1].output, 2U);
  EXPECT_THAT(ports->roles.back().reason, HasSubstr("by their order"));
  signature.outputs[2].info.shape = {"batch", "2", "past + seq", "8"};
  EXPECT_THAT(faultOf(signature), HasSubstr("--input gives its value"));
}

TEST(DecoderPorts, ChoicesOverrideNames) {
  Signature signature = cached("past_0", "present_0");
  signature.inputs.push_back(port("seen", Dtype::i64, {"batch", "past + seq"}));
  EXPECT_FALSE(decoderPorts(signature).ok());
  const Result<std::vector<PortChoice>> choices = parsePortChoices({"mask=seen", "state=past_0:present_0"});
  ASSERT_TRUE(choices.ok());
  const Result<DecoderPorts> ports = decoderPorts(signature, {.ports = *choices});
  ASSERT_TRUE(ports.ok()) << ports.error().message;
  EXPECT_EQ(ports->mask, 2U);
  EXPECT_EQ(ports->caches[0].kind, CacheKind::state);
  EXPECT_THAT(ports->roles[0].reason, HasSubstr("chosen"));
  for (const char* text : {"mask", "speed=seen", "cache=a:b", "cache=a:b:c", "state=a"})
    EXPECT_FALSE(parsePortChoices({text}).ok()) << text;
}

}  // namespace
}  // namespace dyn
