// The pages of :help: the commands in groups, and the language.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "app/session/command.h"

namespace dyn {

// Every command is in one group.
struct CommandGroup {
  std::string_view name, title;
  std::span<const CommandId> commands;
};
std::span<const CommandGroup> commandGroups();

std::string helpOverview();
// "look": a group; "language"; "all": every command. Nothing: there is no such page.
std::optional<std::string> helpPage(std::string_view name);

}  // namespace dyn
