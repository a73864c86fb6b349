// Notes on operations: the file, what it outlives, and the commands.
#include "app/session/graph/note_file.h"

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "app/session/session.h"
#include "app/session/views/view_text.h"
#include "tests/support/paths.h"
#include "tests/support/temporary_folder.h"

namespace dyn {
namespace {

using testing::HasSubstr;

std::string bytesOf(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(NoteFile, ComesBackAsItWasWritten) {
  const test::TemporaryFolder folder;
  const std::string file = noteFileOf(folder / "m.onnx");
  EXPECT_EQ(file, folder / "m.onnx.dyn-notes.json");
  EXPECT_TRUE(readNotes(file)->empty()) << "no file: no notes";
  const NoteTexts notes = {{"/l/MatMul", "slow\n\"why\"?"}, {"h é", "ü"}};
  ASSERT_TRUE(writeNotes(file, notes).ok());
  EXPECT_EQ(*readNotes(file), notes);
  const std::string bytes = bytesOf(file);
  ASSERT_TRUE(writeNotes(file, notes).ok());
  EXPECT_EQ(bytesOf(file), bytes) << "the same notes are the same bytes";
  ASSERT_TRUE(writeNotes(file, {}).ok());
  EXPECT_FALSE(std::filesystem::exists(file));
  EXPECT_TRUE(writeNotes(file, {}).ok()) << "and none again";
}

// Two windows on one model.
TEST(NoteFile, TwoWritersLoseNothing) {
  const test::TemporaryFolder folder;
  const std::string model = folder.write("m.onnx", ""), file = noteFileOf(model);
  constexpr int kNotes = 100;
  const auto write = [&model](const std::string& who) {
    for (int i = 0; i < kNotes; ++i) {
      const auto add = [&](NoteTexts& notes) -> Status {
        notes[who + std::to_string(i)] = who;
        return {};
      };
      EXPECT_TRUE(updateNotes(model, add).ok());
    }
  };
  std::thread first(write, "a"), second(write, "b");
  first.join();
  second.join();
  EXPECT_EQ(readNotes(file)->size(), 2u * kNotes);
  // What gives up changes nothing.
  EXPECT_FALSE(updateNotes(model, [](NoteTexts& notes) -> Status {
                 notes.clear();
                 return makeError(DiagnosticId::fileError, "no");
               }).ok());
  EXPECT_EQ(readNotes(file)->size(), 2u * kNotes);
}

TEST(NoteFile, FaultsAreNamed) {
  const auto fault = [](const char* text) {
    const Result<NoteTexts> notes = parseNotes(text, "m.json");
    return notes.ok() ? std::string("read") : notes.error().toString();
  };
  EXPECT_THAT(fault("{\"version\": 1,\n \"notes\" {}}"), HasSubstr("not JSON at line 2"));
  EXPECT_THAT(fault(""), HasSubstr("not JSON"));
  EXPECT_THAT(fault("[]"), HasSubstr("a file of notes is"));
  const std::string nested = std::string(1'000'000, '[') + std::string(1'000'000, ']');
  EXPECT_THAT(fault(("{\"version\": " + nested + ", \"notes\": {}}").c_str()), HasSubstr("deeper than"));
  EXPECT_THAT(fault("{\"notes\": {\"h\": 3}}"), HasSubstr("'h' is no text"));
  EXPECT_THAT(fault("{\"version\": 2, \"notes\": {}}"), HasSubstr("its version is 2"));
  EXPECT_THAT(fault("[]"), HasSubstr("left as it is"));
  EXPECT_EQ(fault("{\"notes\": {\"h\": \"a\", \"x\": \"\"}}"), "read");
}

class Notes : public testing::Test {
 protected:
  void SetUp() override { write("exp"); }
  void write(const char* op) {
    model_ = folder_.write("m.dyn", std::string("fn @main(%x: Tensor[(n, 4), f32]) {\n  %h = ") + op +
                                        "(%x)\n  %r = relu(%h)\n  %y = tanh(%r)\n  return %y\n}\n");
    const auto loaded = session_.execute(Command::of(CommandId::load).add("model", model_));
    ASSERT_TRUE(loaded->ok()) << loaded->error->toString();
  }
  std::string say(const std::string& line) {
    const Result<Command> command = parseCommand(line);
    if (!command.ok()) return command.error().message;
    const auto outcome = session_.execute(*command);
    return outcome->error ? outcome->error->toString() : toText(outcome->view, TextOptions{});
  }
  std::string file() const { return noteFileOf(model_); }
  test::TemporaryFolder folder_;
  std::string model_;
  Session session_;
};

TEST_F(Notes, AreWrittenShownAndRemoved) {
  EXPECT_THAT(say(":notes"), HasSubstr("no notes"));
  EXPECT_THAT(say(":note h don't fuse\\nthis: a - b"), HasSubstr("don't fuse"));
  EXPECT_EQ(readNotes(file())->at("h"), "don't fuse\nthis: a - b");
  EXPECT_THAT(say(":note \"%y\" the end"), HasSubstr("the end"));
  EXPECT_THAT(say(":notes"), testing::AllOf(HasSubstr("exp"), HasSubstr("the end")));
  EXPECT_EQ(say(":find fuse").substr(0, 11), "1 operation");
  EXPECT_EQ(say(":find note:END").substr(0, 11), "1 operation");
  EXPECT_EQ(say(":find note:nothing").substr(0, 12), "0 operations");
  EXPECT_THAT(say(":note h"), HasSubstr("don't fuse"));
  EXPECT_THAT(say(":note h -"), HasSubstr("no notes"));
  say(":note y -");
  EXPECT_FALSE(std::filesystem::exists(file())) << "without notes there is no file";
  EXPECT_THAT(say(":note nowhere x"), HasSubstr("has no operation 'nowhere'"));
  EXPECT_THAT(say(":note \"h is slow"), HasSubstr("not closed"));
}

// The window sends them this way.
TEST_F(Notes, ALineParsesBack) {
  const Command note = Command::of(CommandId::note).add("rest", "\"a \\\"b\" first\\nsecond \\\\n");
  EXPECT_EQ(*parseCommand(toLine(note)), note);
}

TEST_F(Notes, OutliveThePipelineAndAChangedModel) {
  say(":note h mine");
  say(":set passes -fuse");
  EXPECT_THAT(say(":notes"), HasSubstr("mine"));
  write("log");
  EXPECT_THAT(say(":notes"), testing::AllOf(HasSubstr("log"), HasSubstr("mine")));
  // The operation went; the note did not, and can be removed.
  folder_.write("m.dyn", "fn @main(%x: Tensor[(n, 4), f32]) {\n  %q = relu(%x)\n  return %q\n}\n");
  say(":reload");
  EXPECT_THAT(say(":notes"), testing::AllOf(HasSubstr("not in this model"), HasSubstr("mine")));
  EXPECT_THAT(say(":note q other"), HasSubstr("other"));
  EXPECT_EQ(readNotes(file())->size(), 2u);
  say(":note h -");
  EXPECT_EQ(readNotes(file())->size(), 1u);
}

TEST_F(Notes, ADamagedFileIsNotOverwritten) {
  const std::string damaged = "{\"version\": 1, \"notes\": {\"h\": \"mine\"";
  std::ofstream(file()) << damaged;
  EXPECT_THAT(say(":note h other"), testing::AllOf(HasSubstr("not JSON"), HasSubstr("left as it is")));
  EXPECT_THAT(say(":notes"), HasSubstr("not JSON"));
  EXPECT_EQ(bytesOf(file()), damaged);
  EXPECT_EQ(say(":find exp").substr(0, 11), "1 operation") << "a search goes on without them";
}

TEST_F(Notes, AFolderThatCannotBeWrittenIsSaid) {
  say(":note h mine");
  if (::geteuid() == 0) {
    // Root writes anywhere; a folder in the file's place stops anybody.
    std::filesystem::remove(file());
    std::filesystem::create_directory(file());
    EXPECT_THAT(say(":note h other"), HasSubstr(file()));
    EXPECT_TRUE(std::filesystem::is_directory(file()));
    return;
  }
  ::chmod(folder_.path().c_str(), 0500);
  EXPECT_THAT(say(":note h other"), HasSubstr("Permission denied"));
  ::chmod(folder_.path().c_str(), 0700);
  EXPECT_EQ(readNotes(file())->at("h"), "mine");
}

TEST(NotesOfOnnx, StandUnderTheNodesOfTheFile) {
  const test::TemporaryFolder folder;
  const std::string model = folder / "bert.onnx";
  std::filesystem::copy_file(test::sourceFolder() + "/samples/models/bert/model.onnx", model);
  Session session;
  const auto loaded = session.execute(Command::of(CommandId::load).add("model", model));
  if (!loaded->ok()) GTEST_SKIP() << loaded->error->message;
  const auto graph = session.execute(Command::of(CommandId::graph).add("pass", "fuse"))->share<GraphView>();
  ASSERT_TRUE(graph);
  const auto node = std::find_if(graph->nodes.begin(), graph->nodes.end(), [](const GraphNode& one) {
    return one.kind == NodeKind::operation && one.op == "fused" && !one.sourceNode.empty();
  });
  ASSERT_NE(node, graph->nodes.end());
  const auto said = session.execute(*parseCommand(":note \"" + noteNameOf(*node) + "\" mine"));
  ASSERT_TRUE(said->ok()) << said->error->toString();
  const auto* list = said->as<NoteList>();
  ASSERT_TRUE(list && list->rows.size() == 1);
  EXPECT_EQ(list->rows[0].node, node->sourceNode);
  // At each step some node has it.
  const NoteIndex index(*list);
  for (const char* pass : {"import", "infer", "fuse"}) {
    const auto view = session.execute(Command::of(CommandId::graph).add("pass", pass))->share<GraphView>();
    ASSERT_TRUE(view) << pass;
    EXPECT_TRUE(std::any_of(view->nodes.begin(), view->nodes.end(), [&](const GraphNode& one) {
      return index.of(one) != nullptr;
    })) << pass;
  }
}

}  // namespace
}  // namespace dyn
