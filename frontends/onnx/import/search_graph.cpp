#include "frontends/onnx/import/search_graph.h"

#include <algorithm>
#include <iterator>

namespace dyn::onnx {

bool isSearchOperator(std::string_view domain, std::string_view name) {
  return domain == "com.microsoft" && (name == "GreedySearch" || name == "BeamSearch");
}

namespace {

constexpr Text kStepDomain = "dyn.search";

int64_t integerOf(const NodeProto& node, Text name, int64_t otherwise) {
  const AttributeProto* attribute = node.attribute(name);
  return attribute == nullptr ? otherwise : attribute->i;
}

const GraphProto* graphOf(const NodeProto& node, Text name) {
  const AttributeProto* attribute = node.attribute(name);
  return attribute == nullptr || attribute->graphs().empty() ? nullptr : &attribute->graphs()[0];
}

// A decoder's cache for the first step: [2, rows, heads, 0, size].
struct Cache {
  Text past, present;
  int64_t heads = 0, size = 0;
  int32_t elementType = 0;
};

class SearchWriter {
 public:
  SearchWriter(const NodeProto& node, std::vector<OperatorSetId> opsets)
      : node_(node), isBeam_(node.opType == "BeamSearch"), graph_(std::make_shared<SearchGraph>()) {
    graph_->opsets = std::move(opsets);
    graph_->opsets.push_back({kStepDomain, 1});
  }

  Result<std::shared_ptr<SearchGraph>> write() {
    DYN_CHECK(check());
    nodes_ = &graph_->nodeLists.emplace_back();
    begin();
    const GraphProto& decoder = *graphOf(node_, "decoder");
    const GraphProto* first = graphOf(node_, "init_decoder");
    DYN_TRY(state_.caches, cachesOf(first != nullptr ? *first : decoder));
    startCaches();
    if (first != nullptr) {
      loop(*first, one(1));
      DYN_TRY(std::vector<Cache> caches, cachesOf(decoder));
      if (caches.size() != state_.caches.size())
        return refuse("its two graphs have " + std::to_string(state_.caches.size()) + " and " +
                      std::to_string(caches.size()) + " caches");
      state_.caches = std::move(caches);
    }
    loop(decoder, Text());
    end();
    finish();
    return std::move(graph_);
  }

 private:
  using Attributes = std::vector<AttributeProto>;

  // Names, in the graph that is being written, of what goes from one step to the next.
  struct State {
    Text ids, places, mask, next, sequences, go;
    Text ended;                            // of a greedy search
    Text scores, texts, textScores, done;  // of beams
    std::vector<Text> pasts;
    std::vector<Cache> caches;
  };

  Error refuse(const std::string& what) const {
    return makeError(DiagnosticId::unsupportedFeature, std::string(node_.opType) + ": " + what);
  }

  Status check() const {
    if (const int64_t type = integerOf(node_, "model_type", 0); type != 0)
      return refuse("the decoder of an encoder (model_type " + std::to_string(type) + ") is not supported");
    if (graphOf(node_, "decoder") == nullptr)
      return makeError(DiagnosticId::badAttribute,
                       "attribute \"decoder\" with the decoder's graph is missing");
    if (node_.inputs.size() < (isBeam_ ? 5u : 2u) || input(0).empty() || input(1).empty())
      return makeError(DiagnosticId::badOperands,
                       isBeam_ ? "it needs input_ids, max_length, num_beams and num_return_sequences"
                               : "it needs input_ids and max_length");
    if (isBeam_ && node_.outputs.size() > 2 && !node_.outputs[2].empty())
      return refuse("the scores of all words at each step are not supported");
    if (isBeam_ && !input(10).empty()) return refuse("decoder_input_ids without an encoder");
    if (isBeam_ && !input(11).empty())
      return refuse("a logits_processor, which is for Whisper, is not supported");
    for (const AttributeProto& attribute : node_.attributes) {
      static constexpr Text kKnown[] = {
          "decoder",    "init_decoder",         "model_type",     "eos_token_id",          "pad_token_id",
          "vocab_size", "no_repeat_ngram_size", "early_stopping", "decoder_start_token_id"};
      if (std::find(std::begin(kKnown), std::end(kKnown), attribute.name) == std::end(kKnown))
        return refuse("attribute \"" + std::string(attribute.name) + "\" is not supported");
    }
    return {};
  }

  Result<std::vector<Cache>> cachesOf(const GraphProto& decoder) const {
    static constexpr Text kFirst[] = {"input_ids", "position_ids", "attention_mask"};
    if (decoder.inputs.size() < 4 || decoder.outputs.size() + 2 != decoder.inputs.size())
      return refuse(
          "its decoder has " + std::to_string(decoder.inputs.size()) + " inputs and " +
          std::to_string(decoder.outputs.size()) +
          " outputs, where input_ids, position_ids, attention_mask and a cache for each layer are taken, and "
          "logits and the caches are given");
    for (size_t i = 0; i != 3; ++i)
      if (decoder.inputs[i].name != kFirst[i])
        return refuse("input " + std::to_string(i) + " of its decoder is " +
                      std::string(decoder.inputs[i].name) + ", where " + std::string(kFirst[i]) +
                      " is taken");
    std::vector<Cache> caches;
    for (size_t i = 3; i != decoder.inputs.size(); ++i) {
      const ValueInfoProto& past = decoder.inputs[i];
      const std::span<const Dimension> shape =
          past.type == nullptr ? std::span<const Dimension>() : past.type->shape;
      if (shape.size() != 5 || shape[2].kind != Dimension::Kind::value ||
          shape[4].kind != Dimension::Kind::value || shape[2].value < 1 || shape[4].value < 1)
        return refuse("the cache " + std::string(past.name) +
                      " of its decoder is not declared as [2, rows, heads, positions, size] with numbers of "
                      "heads and sizes");
      caches.push_back(
          {past.name, decoder.outputs[i - 2].name, shape[2].value, shape[4].value, past.type->elementType});
    }
    return caches;
  }

  Text input(size_t i) const {
    return i < node_.inputs.size() && !node_.inputs[i].empty() ? inputName(i) : Text();
  }
  // The inputs of the function have names of their own.
  static Text inputName(size_t i) {
    static constexpr Text kNames[] = {"search:0", "search:1", "search:2",  "search:3",
                                      "search:4", "search:5", "search:6",  "search:7",
                                      "search:8", "search:9", "search:10", "search:11"};
    return i < std::size(kNames) ? kNames[i] : Text();
  }

  Text fresh() { return graph_->names.emplace_back("search:v" + std::to_string(graph_->names.size())); }
  std::span<const Text> list(std::vector<Text> names) { return graph_->lists.emplace_back(std::move(names)); }

  static AttributeProto number(Text name, int64_t value) {
    AttributeProto attribute;
    attribute.name = name;
    attribute.type = AttributeType::integer;
    attribute.i = value;
    return attribute;
  }
  static AttributeProto text(Text name, Text value) {
    AttributeProto attribute;
    attribute.name = name;
    attribute.type = AttributeType::text;
    attribute.s = value;
    return attribute;
  }

  void addNode(Text domain, Text op, std::vector<Text> inputs, std::vector<Text> outputs,
               Attributes attributes) {
    NodeProto node;
    node.bytes = node_.bytes;
    node.name = node_.name;
    node.opType = op;
    node.domain = domain;
    node.inputs = list(std::move(inputs));
    node.outputs = list(std::move(outputs));
    node.attributes = graph_->attributeLists.emplace_back(std::move(attributes));
    nodes_->push_back(node);
  }
  // Operator of search_steps.cpp.
  std::vector<Text> step(Text op, size_t results, std::vector<Text> inputs, Attributes attributes = {}) {
    std::vector<Text> outputs;
    for (size_t i = 0; i != results; ++i) outputs.push_back(fresh());
    addNode(kStepDomain, op, std::move(inputs), outputs, std::move(attributes));
    return outputs;
  }
  Text one(Text op, std::vector<Text> inputs, Attributes attributes = {}) {
    return step(op, 1, std::move(inputs), std::move(attributes))[0];
  }
  Text one(int64_t value) {
    const Text name = fresh();
    addNode({}, "Constant", {}, {name}, {number("value_int", value)});
    return name;
  }

  AttributeProto pad() const { return number("pad", integerOf(node_, "pad_token_id", -1)); }
  AttributeProto eos() const { return number("end", integerOf(node_, "eos_token_id", -1)); }
  Text maskInput() const { return input(isBeam_ ? 9 : 6); }

  void begin() {
    most_ = one("Number", {inputName(1)});
    beams_ = isBeam_ ? one("Number", {inputName(3)}) : one(1);
    const Text mask = maskInput().empty() ? one("Mask", {inputName(0)}, {pad()}) : maskInput();
    const std::vector<Text> start =
        step("Start", 4, {inputName(0), mask, beams_, most_},
             {text("what", isBeam_ ? "BeamSearch: max_length" : "GreedySearch: max_length"), pad()});
    prompt_ = start[0];
    state_.ids = state_.sequences = start[0];
    state_.places = start[1];
    state_.mask = start[2];
    state_.next = start[3];
    const size_t penalty = isBeam_ ? 6 : 3;
    if (!input(penalty).empty()) repetition_ = one("Real", {input(penalty)});
    if (!input(2).empty()) least_ = one("Number", {input(2)});
    wordMask_ = input(penalty + 1);
    if (!input(penalty + 2).empty()) firstMask_ = one("Rows", {input(penalty + 2), beams_});
    if (isBeam_) {
      returned_ = one("Number", {inputName(4)});
      lengthPenalty_ = one("Real", {input(5).empty() ? one(1) : input(5)});
      const std::vector<Text> beams = step("BeamBegin", 4, {inputName(0), beams_, most_}, {pad()});
      state_.scores = beams[0];
      state_.texts = beams[1];
      state_.textScores = beams[2];
      state_.done = beams[3];
    } else {
      state_.ended = one("GreedyBegin", {inputName(0)});
    }
  }

  void startCaches() {
    for (const Cache& cache : state_.caches)
      state_.pasts.push_back(
          one("Cache", {prompt_},
              {number("heads", cache.heads), number("size", cache.size), number("to", cache.elementType)}));
  }

  std::vector<Text*> carried(State& state) const {
    std::vector<Text*> all = {&state.ids, &state.places, &state.mask, &state.next, &state.sequences};
    if (isBeam_)
      all.insert(all.end(), {&state.scores, &state.texts, &state.textScores, &state.done});
    else
      all.push_back(&state.ended);
    for (Text& past : state.pasts) all.push_back(&past);
    return all;
  }

  // Steps by this decoder: `trips`, or as many as there is room for.
  void loop(const GraphProto& decoder, Text trips) {
    State inside = state_;
    std::vector<NodeProto>* around = nodes_;
    nodes_ = &graph_->nodeLists.emplace_back(decoder.nodes.begin(), decoder.nodes.end());
    std::vector<Text> inputs = {fresh(), fresh()};
    inside.ids = decoder.inputs[0].name;
    inside.places = decoder.inputs[1].name;
    inside.mask = decoder.inputs[2].name;
    for (size_t i = 0; i != inside.pasts.size(); ++i) inside.pasts[i] = inside.caches[i].past;
    for (Text* name : {&inside.next, &inside.sequences, &inside.scores, &inside.texts, &inside.textScores,
                       &inside.done, &inside.ended})
      *name = fresh();
    for (const Text* name : carried(inside)) inputs.push_back(*name);
    advance(decoder, inside);
    std::vector<Text> outputs = {inside.go};
    for (const Text* name : carried(inside)) outputs.push_back(*name);

    GraphProto& body = graph_->graphs.emplace_back(decoder);
    body.nodes = *nodes_;
    body.inputs = values(inputs, decoder.inputs);
    body.outputs = values(outputs);
    nodes_ = around;
    if (trips.empty()) trips = one("Room", {state_.sequences, most_});
    std::vector<Text> operands = {trips, state_.go}, results;
    for (Text* name : carried(state_)) {
      operands.push_back(*name);
      *name = fresh();
      results.push_back(*name);
    }
    AttributeProto attribute;
    attribute.name = "body";
    attribute.type = AttributeType::graph;
    attribute.items = &body;
    attribute.itemCount = 1;
    addNode({}, "Loop", std::move(operands), std::move(results), {attribute});
    state_.go = one("Open", {isBeam_ ? state_.done : state_.ended});
  }

  void end() {
    if (isBeam_)
      graph_->function.outputs = list(step("BeamEnd", 2,
                                           {state_.sequences, state_.scores, state_.texts, state_.textScores,
                                            state_.done, lengthPenalty_, returned_},
                                           {pad()}));
    else
      graph_->function.outputs = list({one("GreedyEnd", {state_.sequences, most_}, {pad()})});
  }

  void finish() {
    FunctionProto& function = graph_->function;
    function.bytes = node_.bytes;
    function.name = node_.opType;
    function.domain = kStepDomain;
    std::vector<Text> inputs;
    for (size_t i = 0; i != node_.inputs.size(); ++i) inputs.push_back(inputName(i));
    function.inputs = list(std::move(inputs));
    function.nodes = *nodes_;
    function.opsetImports = graph_->opsets;
  }

  // One step in the body of a loop: `state` becomes that of the next.
  void advance(const GraphProto& decoder, State& state) {
    const Text logits = decoder.outputs[0].name;
    const int64_t words = integerOf(node_, "vocab_size", 0);
    Text scores = words > 0 ? one("Last", {logits, one(words)}) : one("Last", {logits});
    if (isBeam_) scores = one("LogSoftmax", {scores});
    if (!repetition_.empty()) scores = one("RepetitionPenalty", {scores, state.sequences, repetition_});
    if (const int64_t size = integerOf(node_, "no_repeat_ngram_size", 0); size > 0)
      scores = one("NoRepeatNGram", {scores, state.sequences}, {number("size", size)});
    if (!wordMask_.empty()) scores = one("Words", {scores, wordMask_});
    if (!firstMask_.empty()) scores = one("FirstWords", {scores, firstMask_, state.sequences, prompt_});
    if (!least_.empty()) scores = one("LeastLength", {scores, state.sequences, least_}, {eos()});

    std::vector<Text> presents;
    for (const Cache& cache : state.caches) presents.push_back(cache.present);
    Text mask = state.mask;
    if (isBeam_) {
      const std::vector<Text> r = step(
          "Beams", 8,
          {scores, state.sequences, state.scores, state.texts, state.textScores, state.done, lengthPenalty_},
          {eos(), pad(), number("early", integerOf(node_, "early_stopping", 0))});
      state.ids = r[0];
      state.sequences = r[1];
      state.scores = r[3];
      state.texts = r[4];
      state.textScores = r[5];
      state.done = r[6];
      state.go = r[7];
      mask = one("PickMask", {mask, r[2]});
      for (Text& present : presents) present = one("Pick", {present, r[2]});
    } else {
      const std::vector<Text> r = step("Greedy", 4, {scores, state.sequences, state.ended}, {eos(), pad()});
      state.ids = r[0];
      state.sequences = r[1];
      state.ended = r[2];
      state.go = r[3];
    }
    state.pasts = std::move(presents);
    state.mask = one("Longer", {mask});
    state.places = state.next;
    state.next = one("Next", {state.next});
  }

  std::span<const ValueInfoProto> values(const std::vector<Text>& names,
                                         std::span<const ValueInfoProto> known = {}) {
    std::vector<ValueInfoProto>& all = graph_->valueLists.emplace_back();
    for (const Text name : names) {
      const auto declared = std::find_if(known.begin(), known.end(),
                                         [&](const ValueInfoProto& value) { return value.name == name; });
      all.push_back(declared != known.end() ? *declared : ValueInfoProto{node_.bytes, name, nullptr});
    }
    return all;
  }

  const NodeProto& node_;
  const bool isBeam_;
  std::shared_ptr<SearchGraph> graph_;
  std::vector<NodeProto>* nodes_ = nullptr;  // of the graph that is being written
  State state_;
  Text prompt_, most_, beams_, returned_, lengthPenalty_, repetition_, least_, wordMask_, firstMask_;
};

}  // namespace

Result<std::shared_ptr<SearchGraph>> searchGraph(const NodeProto& node, std::vector<OperatorSetId> opsets) {
  return SearchWriter(node, std::move(opsets)).write();
}

}  // namespace dyn::onnx
