// The smallest gateway: runs two cells in one session and shows that the second sees what the first left.
// embed [HOME]; run it twice: the second process finds the kernel of the first and its variables.
#include <holdfast/holdfast.hpp>

#include <cstdio>

int main(int argc, char** argv) {
  try {
    holdfast::gateway gateway(
        holdfast::gateway::config{.home = argc > 1 ? argv[1] : "", .python = {}, .settings = {}, .listen = false});
    gateway.on_notice([](holdfast::notice const& told) { std::printf("[%s: %s]\n", told.session.c_str(), told.text.c_str()); });
    gateway.start();

    auto session = gateway.open_session("ada", "", "example");
    session.run("count = globals().get('count', 0) + 1");
    auto const result = session.run("print('this kernel has seen', count, 'runs'); count");

    std::printf("%s", result.stdout_text.c_str());
    if (result.error) std::printf("%s", result.error->traceback.c_str());
    std::printf("%s: %s\n", result.status.c_str(), result.value.value_or("no value").c_str());
    return result.is_ok() ? 0 : 1;
  } catch (holdfast::failure const& problem) {
    std::fprintf(stderr, "%s: %s\n", problem.kind().c_str(), problem.what());
    return 3;
  }
}
