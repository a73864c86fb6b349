#include "app/session/handlers/help_pages.h"

#include <gmock/gmock.h>

#include <map>

namespace dyn {
namespace {

TEST(HelpPages, everyCommandIsInOneGroup) {
  std::map<CommandId, int> groups;
  for (const CommandGroup& group : commandGroups()) {
    EXPECT_TRUE(helpPage(group.name)) << group.name;
    // The name of a command would be its own page.
    for (const CommandSpec& spec : commandTable()) EXPECT_NE(spec.name, group.name);
    for (const CommandId id : group.commands) ++groups[id];
  }
  for (const CommandSpec& spec : commandTable())
    EXPECT_EQ(groups[spec.id], 1) << ":" << spec.name
                                  << " belongs to a group of app/session/handlers/help_pages.cpp";
}

TEST(HelpPages, theOverviewNamesEveryCommand) {
  for (const CommandSpec& spec : commandTable())
    EXPECT_THAT(helpOverview(), testing::HasSubstr(" :" + std::string(spec.name))) << spec.name;
  EXPECT_TRUE(helpPage("language"));
  EXPECT_FALSE(helpPage("nothing"));
}

}  // namespace
}  // namespace dyn
