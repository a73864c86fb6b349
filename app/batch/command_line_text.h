// What is made of the command line's definition: completions for shells, and the manual page.
#pragma once

#include <CLI/App.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace dyn {

// A script for bash, zsh or fish that completes commands, options and file names of the program.
std::string completionScript(const CLI::App& app, std::string_view program, std::string_view shell);

// A page in the language of man(7), section 1.
std::string manualPage(const CLI::App& app, std::string_view program, std::string_view version);

}  // namespace dyn
