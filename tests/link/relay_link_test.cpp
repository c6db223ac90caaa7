// Trips of a relay as values: what each carries, when the next one starts, and what is made of what they bring.
#include <catch2/catch.hpp>

#include <algorithm>

#include "actors/link/relay_link.hpp"

namespace holdfast::link {
namespace {

using ending = brought::ending;

struct far {
  std::vector<relay_link::trip> trips;
  relay_link link{0, [this](relay_link::trip next) { trips.push_back(std::move(next)); }};

  /// The seqs that the newest trip carries in.
  std::vector<std::uint64_t> carried() const {
    decoder bytes;
    bytes.feed(trips.back().frames);
    std::vector<std::uint64_t> seqs;
    while (auto item = bytes.next()) seqs.push_back(std::get<frame>(*item).seq);
    return seqs;
  }

  /// What a kernel brings that has taken everything up to `ack` and sends these frames.
  static brought said(std::uint64_t ack, std::vector<std::pair<std::uint64_t, std::string>> const& frames = {},
                      std::uint64_t cells = 0, ending end = ending::done) {
    brought made;
    made.end = end;
    made.cells = cells;
    hello first;
    first.ack = ack;
    first.first = frames.empty() ? 1 : frames.front().first;
    append(made.frames, 0, ack, to_json(first));
    for (auto const& [seq, payload] : frames) append(made.frames, seq, ack, payload);
    if (frames.empty()) append(made.frames, 0, ack, "");
    return made;
  }

  void attach() {
    link.open({});
    link.on_brought(trips.back().number, said(0));
    link.pump();
  }

  /// Attached, with trips 2 (a cell) and 3 (an interrupt, which must not wait) underway.
  void begin_two() {
    attach();
    link.send("execute");
    link.pump();
    link.send("interrupt");
    link.pump();
  }
};

template <class Event>
std::size_t count(std::vector<event> const& events) {
  return static_cast<std::size_t>(
      std::count_if(events.begin(), events.end(), [](auto const& each) { return std::holds_alternative<Event>(each); }));
}

TEST_CASE("a first trip only attaches, and its hello is told once") {
  far kernel;

  kernel.link.open({});
  REQUIRE(kernel.trips.size() == 1);
  CHECK(kernel.carried().empty());
  CHECK_FALSE(kernel.link.is_attached());

  CHECK(count<hello>(kernel.link.on_brought(1, far::said(0))) == 1);
  CHECK(kernel.link.is_attached());
  kernel.link.look();
  CHECK(count<hello>(kernel.link.on_brought(2, far::said(0))) == 0);
}

TEST_CASE("a frame goes with one trip and comes back with what it brought") {
  far kernel;
  kernel.attach();
  kernel.link.send("{}");
  kernel.link.pump();
  kernel.link.pump();
  REQUIRE(kernel.trips.size() == 2);
  CHECK(kernel.carried() == std::vector<std::uint64_t>{1});

  auto const events = kernel.link.on_brought(2, far::said(1, {{1, "a"}, {2, "b"}}));
  kernel.link.record(2);
  kernel.link.pump();

  CHECK(count<frame>(events) == 2);
  CHECK(kernel.trips.size() == 2);
}

TEST_CASE("what is recorded is acked with the next attach") {
  far kernel;
  kernel.attach();
  kernel.link.send("{}");
  kernel.link.pump();
  kernel.link.on_brought(2, far::said(1, {{1, "a"}}));
  kernel.link.record(1);

  kernel.link.send("{}");
  kernel.link.pump();

  CHECK(kernel.trips.back().message.ack == 1);
  CHECK(kernel.carried() == std::vector<std::uint64_t>{2});
}

TEST_CASE("what must not wait goes with a second trip, and what both bring is taken once") {
  far kernel;
  kernel.begin_two();
  REQUIRE(kernel.trips.size() == 3);
  CHECK(kernel.carried() == std::vector<std::uint64_t>{1, 2});

  auto const newer = kernel.link.on_brought(3, far::said(2, {{1, "a"}, {2, "b"}}));
  auto const older = kernel.link.on_brought(2, far::said(1, {{1, "a"}}, 1, ending::closed));
  CHECK(count<frame>(newer) == 2);
  CHECK(older.empty());
}

TEST_CASE("a trip that failed says nothing while another one is underway") {
  far kernel;
  kernel.begin_two();

  CHECK(kernel.link.on_brought(2, tl::unexpected<std::string>("away")).empty());
  CHECK(count<broken>(kernel.link.on_brought(3, tl::unexpected<std::string>("away"))) == 1);
}

TEST_CASE("a newest trip that failed is the end of the connection, though an earlier one waits") {
  far kernel;
  kernel.begin_two();

  CHECK(count<broken>(kernel.link.on_brought(3, tl::unexpected<std::string>("away"))) == 1);
}

TEST_CASE("while something is outstanding there the next trip waits for it, once what came is recorded") {
  far kernel;
  kernel.attach();
  kernel.link.send("execute");
  kernel.link.pump();
  kernel.link.on_brought(2, far::said(1, {{1, "started"}}, 1));

  kernel.link.pump();
  CHECK(kernel.trips.size() == 2);
  kernel.link.record(1);
  kernel.link.pump();

  REQUIRE(kernel.trips.size() == 3);
  CHECK(kernel.carried().empty());
  CHECK(kernel.trips.back().message.ack == 1);
}

TEST_CASE("after a lost trip everything that is not acked goes again") {
  far kernel;
  kernel.attach();
  kernel.link.send("execute");
  kernel.link.pump();
  kernel.link.on_brought(2, tl::unexpected<std::string>("away"));
  kernel.link.close();
  kernel.link.send("interrupt");

  kernel.link.open({});

  CHECK(kernel.carried() == std::vector<std::uint64_t>{1, 2});
}

TEST_CASE("a kernel that takes nothing is not asked again at once") {
  far kernel;
  kernel.attach();
  kernel.link.send("execute");
  kernel.link.pump();

  CHECK(count<broken>(kernel.link.on_brought(2, far::said(0))) == 1);
}

TEST_CASE("proof of absence is told, whatever else is underway") {
  far kernel;
  kernel.begin_two();
  brought nothing;
  nothing.end = ending::gone;

  CHECK(count<gone>(kernel.link.on_brought(3, nothing)) == 1);
}

TEST_CASE("an answer to a trip that was given up is dropped") {
  far kernel;
  kernel.attach();
  kernel.link.send("execute");
  kernel.link.pump();
  kernel.link.close();

  CHECK(kernel.link.on_brought(2, far::said(1, {{1, "done"}})).empty());
}

}  // namespace
}  // namespace holdfast::link
