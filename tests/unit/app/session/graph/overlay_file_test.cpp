// Overlays: forms of the file, faults with their places, and which nodes an entry is of.
#include "app/session/graph/overlay_file.h"

#include <gmock/gmock.h>

namespace dyn {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

std::vector<std::string> shown(const Overlay& overlay) {
  std::vector<std::string> all;
  for (const OverlayEntry& e : overlay.entries) all.push_back(e.node + (e.number ? " # " : " = ") + e.text);
  return all;
}

std::string fault(const std::string& text) {
  const Result<Overlay> overlay = parseOverlay(text, "folder/o.json");
  EXPECT_FALSE(overlay.ok()) << text;
  return overlay.ok() ? "" : overlay.error().toString();
}

TEST(OverlayFile, ThreeFormsAreRead) {
  const Result<Overlay> plain = parseOverlay(R"({"h": 1.25, "/l/MatMul": "int8", "n": -3})", "folder/o.json");
  ASSERT_TRUE(plain.ok()) << plain.error().toString();
  EXPECT_THAT(shown(*plain), testing::ElementsAre("h # 1.25", "/l/MatMul = int8", "n # -3"));
  EXPECT_EQ(plain->title, "o");
  const Result<Overlay> named = parseOverlay(
      R"({"name": "error", "unit": "dB", "results": {"h": {"value": -41.5}, "y": 2}})", "o.json");
  ASSERT_TRUE(named.ok()) << named.error().toString();
  EXPECT_THAT(shown(*named), testing::ElementsAre("h # -41.5", "y # 2"));
  EXPECT_EQ(named->title, "error");
  EXPECT_EQ(named->unit, "dB");
  const Result<Overlay> explorer = parseOverlay(
      R"({"main": {"results": {"h": {"value": 3, "bgColor": "red"}}, "gradient": []}})", "o.json");
  ASSERT_TRUE(explorer.ok()) << explorer.error().toString();
  EXPECT_THAT(shown(*explorer), testing::ElementsAre("h # 3"));
  EXPECT_EQ(explorer->title, "main");
}

TEST(OverlayFile, FaultsNameTheirPlace) {
  EXPECT_THAT(fault("{\"h\": 1,\n \"y\" 2}"), HasSubstr("at folder/o.json:2:6"));
  EXPECT_THAT(fault(""), HasSubstr("is not JSON"));
  EXPECT_THAT(fault("[1, 2]"), HasSubstr("an overlay is a JSON object"));
  EXPECT_THAT(fault("{}"), HasSubstr("names no nodes"));
  EXPECT_THAT(fault("{\"h\": 1,\n\n  \"y\": [2]}"), HasSubstr("at folder/o.json:3:3"));
  EXPECT_THAT(fault("{\"h\": 1,\n\n  \"y\": [2]}"), HasSubstr("'y' has a list"));
  EXPECT_THAT(fault("{\"y\": null}"), HasSubstr("'y' has null"));
  EXPECT_THAT(fault("{\"y\": {\"colour\": 1}}"), HasSubstr("without \"value\""));
  EXPECT_THAT(fault("{\"y\": 1e999}"), HasSubstr("out of range"));
  std::string deep;
  for (int i = 0; i < 100'000; ++i) deep += "{\"a\":";
  EXPECT_THAT(fault(deep), HasSubstr("o.json"));
  EXPECT_FALSE(readOverlay("/nowhere/o.json").ok());
}

TEST(OverlayFile, AnEntryIsOfValuesAndOfNodesOfTheFile) {
  GraphView graph;
  for (const auto& [name, source] : {std::pair("h", "/l/MatMul"), std::pair("h2", "/l/MatMul"),
                                     std::pair("s", "/l/Softmax"), std::pair("y", "")}) {
    GraphNode node;
    node.name = name;
    node.sourceNode = source;
    graph.nodes.push_back(node);
  }
  graph.nodes[2].outputs = {{"s", "", kNoNode}, {"s_other", "", kNoNode}};
  const Result<Overlay> overlay =
      parseOverlay(R"({"/l/MatMul": 4, "%h2": 7, "s_other": "int8", "gone": 100})", "o.json");
  ASSERT_TRUE(overlay.ok());
  const OverlayOnGraph on = overlayOn(*overlay, graph);
  EXPECT_THAT(on.entryOfNode, testing::ElementsAre(0, 1, 2, -1))
      << "a value's own name goes before that of its node";
  EXPECT_EQ(on.least, 4);
  EXPECT_EQ(on.largest, 7) << "what is not shown does not stretch the range";
  EXPECT_THAT(on.texts, testing::ElementsAre("int8"));
  EXPECT_THAT(on.unmatched, testing::ElementsAre("gone"));
}

}  // namespace
}  // namespace dyn
