// Views as text for people: what the shell, the console of the window and batch commands without --json show.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "app/session/views/view.h"
#include "compiler/reference/value.h"
#include "compiler/support/diagnostic.h"

namespace dyn {

struct SettingTable;

struct TextOptions {
  bool color = false;
  int width = 100;      // columns
  bool fitted = false;  // tables and lists are no wider than that; else tables are as wide as their cells
  int precision = 6;    // digits of reals
  int edgeItems = 3;
  bool full = false;  // tensors and differences whole
  int mostLines = 0;  // of a difference, unless full; 0: no limit
  enum class Pictures : uint8_t { off, blocks, kitty, sixel };
  Pictures pictures = Pictures::off;          // of tensors
  Pictures terminalPictures = Pictures::off;  // what `:set pictures auto` chooses
  bool trueColor = false;                     // else 256 colours
};

// Ends in a newline unless it is empty.
std::string toText(const View& view, const TextOptions& options);
std::string toText(const Value& value, const std::string& type, const TextOptions& options);
// "error[E0203]: ..." with place, source line, caret and notes.
std::string toText(const Diagnostic& diagnostic, const TextOptions& options);
std::string durationText(int64_t timeNs);                     // "1.24 ms"
std::string bytesText(int64_t bytes);                         // "3.2 MiB"
std::string countText(int64_t count, std::string_view what);  // "1 node", "3 nodes"
// "/models/bert.onnx: byte 17: node /layer/MatMul (MatMul, opset 17)" → "/layer/MatMul"; other places as they
// are.
std::string nodeOf(const std::string& place);
// Takes over what :set changed.
void applySettings(const SettingTable& table, TextOptions& options);

}  // namespace dyn
