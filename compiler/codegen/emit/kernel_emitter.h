// Internal to codegen: emits the body of one loop kernel.
//
// Scopes. Every loop opens a scope with a preheader block; an expression is emitted at the end of the
// preheader of the innermost scope that binds one of its variables, so it runs as seldom as it can, and is
// remembered for as long as that scope is open. Blocks that may be skipped (branches, guarded selects) are
// scopes of their own. Expressions that could fault (loads under a select, divisions by data) stay where they
// are.
//
// Lanes. Inside a `vector` loop values are LaneValues: uniform, linear or varying. What is left after the
// last full vector is the same code once more under a mask, or with one lane at a time where the machine has
// no masked loads and stores for the kernel's element types.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "compiler/codegen/emit/device_mapping.h"
#include "compiler/codegen/emit/lane_value.h"
#include "compiler/codegen/emit/scalar_emitter.h"
#include "compiler/loop/kernel_lines.h"

namespace dyn {

// One element of scratch memory: what a loop carries from iteration to iteration.
inline bool isCell(const loop::Buffer& buffer) {
  return buffer.role == loop::BufferRole::scratch && buffer.shape.size() == 1 &&
         buffer.shape[0].kind() == loop::ExprKind::intConstant && buffer.shape[0].intValue() == 1;
}

struct ProductDigit;
struct StagedFactor;
struct TiledProduct;

class KernelEmitter {
 public:
  KernelEmitter(KernelModule& module, const loop::Kernel& kernel, const std::string& symbol);
  void noteLines(const loop::StmtLines& lines) { lines_ = &lines; }  // outlives emit()
  // The last scalars of the kernel are sizes left open: the function takes them by one more argument.
  void leaveOpen(size_t sizesCount) { openSizes_ = sizesCount; }
  Status emit();
  // For a GPU, whose machine has one lane (device_emitter.cpp).
  Status emitOnDevice(DeviceMapping mapping, DeviceUnit unit = DeviceUnit::none);
  bool mayFaultOnDevice() const { return device_ && device_->mayFault; }
  bool dealsElements() const { return device_ && device_->dealsElements; }

 private:
  struct Scope {
    llvm::Instruction* hoistPoint =
        nullptr;                   // instructions of this scope go before it; null: at the builder's place
    std::vector<uint32_t> values;  // ids of expressions remembered in this scope
    std::vector<uint32_t> fromOutside;  // those of them that belong further out, where no hoist point is
  };

  // --- lines (emitted_lines.cpp)
  void beginLines();
  void endLines();
  void atLineOf(const loop::Stmt& stmt);
  // --- statements (kernel_emitter.cpp)
  Status statement(const loop::Stmt& stmt);
  Status statementAtLine(const loop::Stmt& stmt);
  Status children(const loop::Stmt& stmt);
  Status loopStatement(const loop::Stmt& stmt);
  Status loopHere(const loop::Stmt& stmt);
  Status wholeLoop(const loop::Stmt& stmt);
  // An iteration of a vector loop (whole_rows.cpp).
  Status vectorBody(const loop::Stmt& stmt);
  Status onEitherSide(const loop::Stmt& stmt);
  Status storeStatement(const loop::Stmt& stmt);
  Status statements(std::span<const loop::StmtRef> list);
  Status accumulateStatements(std::span<const loop::Stmt* const> together);
  // The accumulations at the head of `statements` that one loop does, at least the first.
  std::vector<const loop::Stmt*> accumulatedTogether(std::span<const loop::StmtRef> statements) const;
  Status branchStatement(const loop::Stmt& stmt);
  Status checkStatement(const loop::Stmt& stmt);
  // The loop `variable` = start, start + step, ... while variable + step <= limit. Returns the first value
  // that was not reached. `carried` are values that the body replaces in each iteration: initial values in,
  // final values out.
  Result<llvm::Value*> countedLoop(loop::Expr variable, llvm::Value* start, llvm::Value* limit, int64_t step,
                                   std::vector<llvm::Value*>& carried,
                                   const std::function<Status(llvm::Value* first)>& body);
  // One more iteration of a vector loop for start, ..., limit - 1, fewer than all lanes, under a mask. The
  // body is told the mask. `left` is how many are left, where that is known: then nothing is tested.
  Status maskedIteration(loop::Expr variable, llvm::Value* start, llvm::Value* limit,
                         std::optional<int64_t> left, std::vector<llvm::Value*>& carried,
                         const std::function<Status()>& body);
  // --- axes of units, counted (unit_counter.cpp)
  struct UnitDigit {
    loop::Expr variable, extent;  // extent null: the first, which is not bounded
  };
  // The lets at the head of the body that take the unit apart into indices, last one fastest; empty where
  // they do not.
  std::vector<UnitDigit> unitDigits() const;
  Status emitUnits();
  // --- threads of a GPU (device_emitter.cpp)
  Status scratchOnDevice();
  Status elementsOfThreads();
  Status unitsOfBlocks();
  Status elementOf(const loop::Stmt& unitBody, std::span<const loop::Stmt* const> loops,
                   std::span<llvm::Value* const> digits);
  Status letsBefore(const loop::Stmt& body, const loop::Stmt& last);
  Status dealtLoop(loop::Expr variable, llvm::Value* start, llvm::Value* limit, llvm::Value* step,
                   std::vector<llvm::Value*>& carried, const std::function<Status(llvm::Value*)>& body);
  // All threads of a block are here together, and deal out the vector loops that begin here.
  bool sharesLoops() const;
  bool isShared(const loop::Stmt& loop) const;
  llvm::Value* isOtherMemory(const loop::Stmt& loop);
  bool isSharedReduction(const loop::Stmt& stmt) const;
  bool hasSharedReduction(const loop::Stmt& stmt) const;
  Status sharedLoop(const loop::Stmt& stmt);
  Status sharedReduction(const loop::Stmt& stmt);
  Status togetherOrNot(const loop::Stmt& stmt, bool again, const std::function<Status()>& body);
  void meetBefore(const loop::Stmt& stmt);
  void allThreadsMeet();
  static void addReads(loop::Expr root, std::set<std::string>& read);
  llvm::Value* ofOtherLane(llvm::Value* value, unsigned bits);
  llvm::Value* shuffled(llvm::Value* value, const std::function<llvm::Value*(llvm::Value* word)>& shuffle);
  llvm::Value* reducedOverBlock(loop::ReduceOp op, llvm::Value* part, Dtype dtype);
  llvm::Value* sharedArray(const std::string& name, llvm::Type* element, uint64_t count);
  void byFirstThread(const std::function<void()>& store);
  void tellFault(llvm::Value* fault);
  // --- running sums of a GPU's block (device_scan_emitter.cpp)
  struct RunningLoop {
    loop::ReduceOp op = loop::ReduceOp::sum;
    loop::Expr held, element;  // what the cell holds, and what each iteration adds
    bool exclusive = false;
    const loop::Stmt *fold = nullptr, *put = nullptr;
  };
  std::optional<RunningLoop> runningLoopOf(const loop::Stmt& loop) const;
  bool hasRunningLoop(const loop::Stmt& stmt) const;
  Status runningLoop(const RunningLoop& running, const loop::Stmt& loop);
  Status storeSum(const loop::Stmt& put, llvm::Value* sum, Dtype dtype);
  llvm::Value* ofLaneBefore(llvm::Value* value, unsigned lanes);
  bool usesScanParts() const;
  void addScanParts(const loop::Stmt& stmt, std::set<std::string>& read) const;
  // --- products of a GPU (device_product_emitter.cpp)
  struct ProductTile;
  struct GuardedCode {
    llvm::BasicBlock *before = nullptr, *end = nullptr, *after = nullptr;
  };
  void beginWhen(llvm::Value* condition, GuardedCode& guarded);
  void endWhen(GuardedCode& guarded);
  Status when(llvm::Value* condition, const std::function<Status()>& body);
  Result<llvm::Value*> valueWhen(llvm::Value* condition, llvm::Value* otherwise,
                                 const std::function<Result<llvm::Value*>()>& body);
  Status carryWhen(llvm::Value* condition, std::vector<llvm::Value*>& carried,
                   const std::function<Status()>& body);
  llvm::Value* packed(std::span<llvm::Value* const> values);
  Result<llvm::Value*> countOf(std::span<const loop::Expr> unitExtents,
                               const std::vector<ProductDigit>& digits);
  Result<llvm::Value*> extentOf(std::span<const loop::Expr> unitExtents, const ProductDigit& digit);
  Status bindDigits(std::span<const loop::Expr> unitExtents, const std::vector<ProductDigit>& digits,
                    llvm::Value* flat);
  llvm::Value* sharedAt(const ProductTile& tile, llvm::Value* byteOffset);
  llvm::Value* stagedAt(const ProductTile& tile, const StagedFactor& factor, llvm::Value* stage,
                        llvm::Value* across, llvm::Value* k);
  Result<llvm::Value*> factorAt(const ProductTile& tile, const StagedFactor& factor, llvm::Value* across,
                                llvm::Value* k);
  llvm::Value* rounded(const ProductTile& tile, llvm::Value* value);
  Status byLineOrSingly(const ProductTile& tile, const StagedFactor& factor, llvm::Value* across,
                        llvm::Value* k, const std::function<Status(llvm::Value* address)>& line,
                        const std::function<Status()>& single);
  Status productTiles(ProductTile& tile, const std::function<Status()>& computeSums);
  Status finishSums(const ProductTile& tile);
  Status piecesOfSum(
      const ProductTile& tile, std::vector<llvm::Value*>& sums,
      const std::function<Result<std::function<void()>>(llvm::Value* k0, llvm::Value* stage)>& fetch,
      const std::function<Status(std::vector<llvm::Value*>& sums, llvm::Value* stage)>& sumUp);
  Result<std::function<void()>> fetchSingles(const ProductTile& tile, const StagedFactor& factor,
                                             llvm::Value* k0, llvm::Value* stage);
  Status fetchChunk(const ProductTile& tile, const StagedFactor& factor, llvm::Value* across, llvm::Value* k,
                    std::vector<llvm::Value*>& values);
  Status tilesOfBlocks();
  // --- the same by tensor cores (device_tensor_emitter.cpp)
  Status tensorTilesOfBlocks();
  Status stageForTensor(const ProductTile& tile, const StagedFactor& factor, llvm::Value* k0,
                        llvm::Value* stage);
  std::vector<llvm::Value*> fragments(const ProductTile& tile, const StagedFactor& factor, llvm::Value* stage,
                                      llvm::Value* across, unsigned step);
  void multiplyFragments(const ProductTile& tile, std::span<llvm::Value* const> a,
                         std::span<llvm::Value* const> w, std::span<llvm::Value*> sums);
  // --- attention of a GPU (device_attention_emitter.cpp)
  struct AttentionTile;
  Status attentionOfBlocks();
  llvm::Value* inLines(const AttentionTile& tile, unsigned base, llvm::Value* line, unsigned width,
                       llvm::Value* place);
  Status fillLines(unsigned lines, unsigned width,
                   const std::function<Status(llvm::Value* line, llvm::Value* place)>& element);
  Status attentionRows(AttentionTile& tile, const std::function<Status()>& rows);
  Result<llvm::Value*> partWhen(const AttentionTile& tile, loop::Expr part, llvm::Value* isThere,
                                llvm::Value* k, const std::function<Status()>& bind);
  Result<llvm::Value*> queryWhen(const AttentionTile& tile, llvm::Value* r, llvm::Value* k);
  Result<llvm::Value*> keyWhen(const AttentionTile& tile, llvm::Value* key, llvm::Value* k);
  Result<llvm::Value*> valueOfKeyWhen(const AttentionTile& tile, llvm::Value* key, llvm::Value* c);
  Status keysOfRows(
      const AttentionTile& tile, size_t sumCount,
      const std::function<Result<std::vector<llvm::Value*>>(llvm::Value* j0)>& products,
      const std::function<Status(llvm::Value* j0, std::span<llvm::Value* const> weights,
                                 std::span<llvm::Value* const> scales, std::span<llvm::Value*> sums)>& weigh,
      const std::function<Status(std::span<llvm::Value* const> sums, std::span<llvm::Value* const> shares)>&
          finish);
  std::vector<llvm::Value*> sharesOf(std::span<llvm::Value* const> totals);
  Status weightsOf(const AttentionTile& tile, llvm::Value* j0, std::span<llvm::Value* const> products,
                   std::vector<llvm::Value*>& carried, std::vector<llvm::Value*>& weights,
                   std::vector<llvm::Value*>& scales);
  Result<std::vector<llvm::Value*>> roundedShares(const AttentionTile& tile, llvm::Value* j0,
                                                  std::span<llvm::Value* const> products,
                                                  std::span<llvm::Value* const> largest,
                                                  std::span<llvm::Value* const> shares);
  llvm::Value* baseOf(llvm::Value* largest);
  llvm::Value* ofPair(llvm::Value* thread, unsigned i);
  llvm::Value* multiplyAdd(llvm::Value* x, llvm::Value* y, llvm::Value* sum);
  Status finishRows(const AttentionTile& tile,
                    const std::function<llvm::Value*(llvm::Value* r, llvm::Value* c)>& sumAt);
  Result<llvm::Value*> scoreOf(const AttentionTile& tile, llvm::Value* product, llvm::Value* r,
                               llvm::Value* j);
  Result<std::vector<llvm::Value*>> keyProducts(const AttentionTile& tile, llvm::Value* j0);
  Status weighValues(const AttentionTile& tile, llvm::Value* j0, std::span<llvm::Value* const> weights,
                     std::span<llvm::Value* const> scales, std::span<llvm::Value*> carried);
  Status finishAttention(const AttentionTile& tile, std::span<llvm::Value* const> sums,
                         std::span<llvm::Value* const> shares);
  // --- the same by tensor cores (device_tensor_attention_emitter.cpp)
  struct TensorAttention;
  Status tensorAttentionOfBlocks();
  void placeAttention(TensorAttention& by);
  void meetBehindCopies(bool copies);
  llvm::Value* floatAt(const TensorAttention& by, unsigned base, llvm::Value* index);
  Result<std::vector<llvm::Value*>> keyProductsByTensor(const TensorAttention& by, llvm::Value* j0);
  Status weighValuesByTensor(const TensorAttention& by, llvm::Value* j0,
                             std::span<llvm::Value* const> weights, std::span<llvm::Value* const> scales,
                             std::span<llvm::Value*> sums);
  Status finishTensorAttention(const TensorAttention& by, std::span<llvm::Value* const> sums,
                               std::span<llvm::Value* const> shares);
  // --- squares (tile_emitter.cpp)
  Status tileStatement(const loop::Stmt& stmt);
  struct Tile;
  std::optional<Tile> tileOf(const loop::Stmt& stmt);
  Status squaresOf(const Tile& tile, llvm::Value* extent);
  std::optional<bool> isNarrow(const Tile& tile) const;
  struct TileRows {
    llvm::Value *first = nullptr, *end = nullptr;
    llvm::Value* left = nullptr;  // of the one square, where it is not full; null: squares are
  };
  Status tileRows(const Tile& tile, const TileRows& rows);
  Status tileColumnsLeft(const Tile& tile, const TileRows& rows, llvm::Value* first,
                         const std::function<Status()>& squares);
  Result<llvm::Value*> wholeSquares(const Tile& tile, llvm::Value* first, llvm::Value* extent);
  static bool isOfBytes(const Tile& tile);
  int64_t rowsOfLine(const Tile& tile) const;  // of the result, that are read from a line at a time
  Status tileSquare(const Tile& tile, llvm::Value* rowsLeft);
  Result<std::vector<llvm::Value*>> loadSquare(loop::Expr load, llvm::Value* rowsLeft);
  llvm::Value* waitingSquare(size_t load, llvm::Type* vector);
  bool isOneOfMany(const Tile& tile, llvm::Value* rowsLeft) const;
  // --- other widths of vector loops (whole_rows.cpp)
  // False: a vector is so many numbers, each with instructions of its own.
  bool hasVectors() const;
  static constexpr int64_t kUnrolledWindow = 4;          // elements along one axis
  static constexpr unsigned kReductionsAtOnce = 4;       // vectors
  unsigned wholeRowLanes(const loop::Stmt& stmt) const;  // of a copy that is done at once; 0: it is not
  Status wholeRow(const loop::Stmt& stmt, unsigned lanes);
  // Vectors of the loop that are done side by side: 1, or more where it reduces, or does little.
  unsigned vectorsAtOnce(const loop::Stmt& stmt) const;
  unsigned elementsAtOnce(const loop::Stmt& stmt) const;
  Result<std::optional<LaneValue>> loadKnownPlaces(loop::Expr e);
  bool alongLanes(loop::Expr root, loop::Expr variable) const;
  // --- tables of 256 bytes (byte_lookup.cpp)
  bool picksByte(loop::Expr load) const;  // among registers
  Result<std::optional<LaneValue>> lookUpBytes(loop::Expr load);
  llvm::Value* loadRow(llvm::Type* element, unsigned count, llvm::Value* pointer);
  // How many of `extent` iterations are left after the last full vector, when that is the same for all values
  // of the dims.
  std::optional<int64_t> leftAfterVectors(loop::Expr extent) const;
  bool masksTails() const;
  // The loops of accumulations from `level` inwards; `partial` are the vector accumulators of each, then its
  // scalar one.
  Status accumulateLevel(std::span<const loop::Stmt* const> together, size_t level, bool vectors,
                         std::vector<llvm::Value*>& partial);
  Status joinHalves(const loop::Stmt& stmt, std::vector<llvm::Value*>& partial);
  Result<llvm::Value*> combinedLanes(const loop::Stmt& stmt, std::vector<llvm::Value*> partial);
  Status accumulateOnce(const loop::Stmt& stmt, llvm::Value*& accumulator);
  bool vectorizable(const loop::Stmt& stmt, loop::Expr variable) const;

  // --- expressions (expr_emitter.cpp)
  Result<LaneValue> value(loop::Expr e);
  Result<LaneValue> compute(loop::Expr e);
  Result<LaneValue> loadValue(loop::Expr e);
  llvm::Value* loadStrided(llvm::FixedVectorType* type, llvm::Value* pointer, llvm::Align align,
                           int64_t stride, llvm::Value* mask);
  Result<LaneValue> selectValue(loop::Expr e);
  // A choice among rows of tensors (row_choice.cpp); none: it is another choice.
  Result<std::optional<LaneValue>> loadChosenRow(loop::Expr choice);
  Result<loop::Expr> chosenRow(loop::Expr e, Dtype dtype, loop::Expr& last);
  loop::Expr addressVariable(const loop::Buffer* buffer);
  Result<LaneValue> binaryValue(loop::Expr e);
  Result<llvm::Value*> dimValue(Dim dim);
  loop::Expr linearPlace(const loop::Buffer* buffer, std::span<const loop::Expr> index);
  Result<LaneValue> address(const loop::Buffer* buffer, std::span<const loop::Expr> index);
  // floorDiv or mod of a linear value by a uniform one, without a division for each lane.
  LaneValue wrapLinear(loop::BinaryOp op, const LaneValue& a, llvm::Value* divisor);
  // Comparison of two places, one of them linear by a constant, the other uniform; null: they are not.
  llvm::Value* compareLinear(loop::Expr e, const LaneValue& a, const LaneValue& b);
  // Stores to neighbours of each lane's place, as one (interleaving_emitter.cpp): how many of `list` were
  // done, 0 where they are others.
  Result<size_t> interleavedStores(std::span<const loop::StmtRef> list);
  // What several loads of an iteration of the loop take apart, read as it lies.
  struct WideLoad {
    const loop::Buffer* buffer = nullptr;
    std::vector<loop::Expr> index;  // without the constant of the last place,
    int64_t low = 0, stride = 0;    // the least of which is `low`
    llvm::Value* elements = nullptr;
  };
  Status noteWideLoads(const loop::Stmt& loop);
  llvm::Value* loadFromWide(loop::Expr load);
  void storeStrided(llvm::Value* stored, llvm::Value* pointer, llvm::Align align, int64_t stride,
                    llvm::Value* mask);
  Result<LaneValue> guardDivisor(loop::Expr division, LaneValue divisor);
  llvm::Value* splatOf(llvm::Value* v);
  // As one value per lane (a scalar when there is one lane).
  llvm::Value* vector(const LaneValue& v);
  Result<llvm::Value*> scalar(loop::Expr e);  // error internalError when it varies over lanes
  LaneValue linearBinary(loop::BinaryOp op, const LaneValue& a, const LaneValue& b);
  template <typename Own>
  bool anyPart(loop::Expr root, std::unordered_map<uint32_t, bool>& memo, const Own& own);
  bool isData(loop::Expr e);
  bool divides(loop::Expr e);
  bool dividesBySize(loop::Expr e);
  bool branches(loop::Expr e);
  bool castsBySize(loop::Expr e);
  bool mayFault(loop::Expr e);
  bool mayFaultHere(loop::Expr e);
  void noteCertainLoads(const loop::Stmt& store);
  bool readsBack(loop::Expr e);
  llvm::Value* elementAt(llvm::Type* element, llvm::Value* base, llvm::Value* index);
  size_t scopeOf(loop::Expr e);
  llvm::Value* allLanes(llvm::Value* condition);
  llvm::Value* anyLane(llvm::Value* condition);

  void bindVariable(loop::Expr variable, LaneValue v);
  // A variable of the code alone. A kernel that is emitted again has the same ones, so its code is the same.
  loop::Expr ownVariable(const char* hint, Dtype dtype);
  void pushScope(llvm::Instruction* hoistPoint);
  void popScope();
  llvm::BasicBlock* newBlock(const char* name);
  // `fault`: what is returned, emitted where it fails.
  void returnFault(llvm::Value* failed, const std::function<llvm::Value*()>& fault);
  llvm::Value* laneOf(const LaneValue& v, llvm::Value* fails);
  llvm::Value* saturated(llvm::Value* number);
  Error unsupported(DiagnosticId id, const std::string& what) const;
  // Of a buffer in memory; unsupported where LLVM has no such type (8-bit floats, for example).
  Result<llvm::Type*> elementType(const loop::Buffer& buffer);

  KernelModule& module_;
  const loop::Kernel& kernel_;
  std::string symbol_;
  llvm::LLVMContext& context_;
  llvm::Function* function_ = nullptr;
  llvm::IRBuilder<> b_;
  ScalarEmitter ops_;
  unsigned lanes_ = 1;                      // of the loop being emitted
  unsigned fullLanes_ = 1;                  // of the machine
  mutable std::optional<bool> picksBytes_;  // among registers; asked of the machine once
  llvm::Value* mask_ = nullptr;             // lanes that may touch memory; null: all
  std::unordered_set<uint32_t>
      certainLoads_;                  // by id, of the store being emitted: what is there if its place is
  llvm::Value* tailMask_ = nullptr;   // of the masked iteration being emitted: at least one lane
  llvm::Value* tailCount_ = nullptr;  // how many lanes that is, i64
  const loop::StmtLines* lines_ = nullptr;  // null: no debug lines
  std::optional<size_t> openSizes_;
  llvm::DISubprogram* subprogram_ = nullptr;
  std::vector<Scope> scopes_;
  std::unordered_map<uint32_t, LaneValue> values_;      // by expression id
  std::unordered_map<uint32_t, size_t> variableScope_;  // by expression id of the variable
  std::unordered_map<uint32_t, size_t> scopeMemo_;
  std::vector<WideLoad> wideLoads_;  // of the vector loop being emitted
  int ownVariables_ = 0;             // so many are made
  std::unordered_map<uint32_t, bool> faultMemo_, dataMemo_, backMemo_;
  std::unordered_map<uint32_t, llvm::Value*> dimScalars_;  // Dim id → value
  std::unordered_map<const loop::Buffer*, llvm::Value*> buffers_;
  std::unordered_map<const loop::Buffer*, loop::Expr> addressVariables_;
  std::unordered_map<uint32_t, const loop::Buffer*> chosenRows_;  // by id of the choice
  std::map<std::pair<size_t, llvm::Type*>, llvm::Value*> waitingSquares_;
  std::optional<DeviceEmission> device_;                            // of a GPU
  std::map<llvm::Type*, llvm::Value*> reductionParts_, scanParts_;  // shared memory by element type
};

}  // namespace dyn
