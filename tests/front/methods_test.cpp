// The table refuses what it does not describe, and turns what it does into the core's messages.
#include <catch2/catch.hpp>

#include <array>
#include <set>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include "actors/front/methods.hpp"
#include "actors/front/objects.hpp"

namespace holdfast::front {
namespace {

namespace json = boost::json;

json::object object(std::string const& text) { return json::parse(text).as_object(); }

error refused(std::string_view name, std::string const& params) {
  auto const checked = read_call(name, object(params));
  INFO(name << " " << params.substr(0, 200));
  REQUIRE_FALSE(checked);
  return checked.error();
}

template <class What>
What accepted_session(std::string_view name, std::string const& params, session_key const& key = {}) {
  auto checked = read_call(name, object(params));
  if (!checked) FAIL(checked.error().message);
  auto& made = std::get<session_call>(*checked);
  CHECK(made.key == key);
  return std::get<What>(made.what);
}

template <class What>
What accepted_supervisor(std::string_view name, std::string const& params) {
  auto checked = read_call(name, object(params));
  if (!checked) FAIL(checked.error().message);
  return std::get<What>(std::get<supervisor_call>(*checked).what);
}

TEST_CASE("run with code alone has the contract's defaults") {
  auto const run = accepted_session<run_cell>("run", R"({"code":"1"})", {"default", "", "default"});

  CHECK(run.code == "1");
  CHECK(run.cell.empty());
  CHECK_FALSE(run.environment);
  CHECK_FALSE(run.python);
  CHECK_FALSE(run.cwd);
  CHECK(run.env.empty());
  CHECK(run.timeout_ms == 300'000);
  CHECK_FALSE(run.wait_ms);
  CHECK_FALSE(run.reset);
  CHECK_FALSE(run.if_kernel);
  CHECK_FALSE(run.stream);
}

TEST_CASE("run takes all of its params") {
  auto const run = accepted_session<run_cell>(
      "run",
      R"({"owner":"ada","child":"c1","session":"main","code":"a\u0000b","cell":"x.1:2_3-4","environment":"local","python":"python3.11",
                 "cwd":"/tmp","env":{"A_1":"v","B":""},"timeout_ms":0,"wait_ms":5,"reset":true,"if_kernel":"k-1","stream":true})",
      {"ada", "c1", "main"});

  CHECK(run.code == std::string("a\0b", 3));
  CHECK(run.cell.text == "x.1:2_3-4");
  CHECK(run.environment == "local");
  CHECK(run.python == "python3.11");
  CHECK(run.cwd == "/tmp");
  CHECK(run.env == std::map<std::string, std::string>{{"A_1", "v"}, {"B", ""}});
  CHECK(run.timeout_ms == 0);
  CHECK(run.wait_ms == 5);
  CHECK(run.reset);
  CHECK(run.if_kernel->text == "k-1");
  CHECK(run.stream);
}

TEST_CASE("null stands for a param left out when nothing is its default") {
  auto const run =
      accepted_session<run_cell>("run", R"({"code":"1","child":null,"cell":null,"wait_ms":null,"python":null,"env":null})");

  CHECK_FALSE(run.wait_ms);
  CHECK(refused("run", R"({"code":"1","timeout_ms":null})").code == error_code::invalid_params);
  CHECK(refused("run", R"({"code":null})").code == error_code::invalid_params);
}

TEST_CASE("the other session methods become their messages") {
  CHECK(accepted_session<get_cell>("cell.get", R"({"cell":"a"})").cell.text == "a");
  auto const wait = accepted_session<wait_cell>("cell.wait", R"({"cell":"a","wait_ms":7,"stream":true,"offset":9})");
  CHECK(wait.wait_ms == 7);
  CHECK(wait.stream);
  CHECK(wait.offset == 9);
  auto const list = accepted_session<list_cells>("cell.list", R"({"status":"lost","limit":3,"after":"x"})");
  CHECK(list.status == storage::cell_status::lost);
  CHECK(list.limit == 3);
  CHECK(list.after == "x");
  auto const shown = accepted_session<read_display>("cell.display", R"({"cell":"a","index":2,"mime":"image/png"})");
  CHECK(shown.cell.text == "a");
  CHECK(shown.index == 2);
  CHECK(shown.mime == "image/png");
  accepted_session<list_variables>("session.variables", "{}");
  auto const output = accepted_session<read_output>("cell.output", R"({"cell":"a","offset":10})");
  CHECK(output.offset == 10);
  CHECK(output.limit == 65'536);
  CHECK_FALSE(accepted_session<interrupt_cell>("cell.interrupt", "{}").cell);
  CHECK(accepted_session<interrupt_cell>("cell.interrupt", R"({"cell":"a"})").cell->text == "a");
  accepted_session<get_session>("session.get", R"({"session":"s"})", {"default", "", "s"});
  accepted_session<reset_session>("session.reset", "{}");
  accepted_session<close_session>("session.close", "{}");
  CHECK(accepted_session<fork_session>("session.fork", R"({"session":"a","into":"b"})", {"default", "", "a"}).into == "b");
  CHECK(refused("session.fork", R"({"session":"a"})").code == error_code::invalid_params);
}

TEST_CASE("a text is asked for within its limits, or not at all") {
  CHECK(accepted_session<run_cell>("run", R"({"code":"1"})").text_limit == 0);
  CHECK(accepted_session<run_cell>("run", R"({"code":"1","text_limit":256})").text_limit == 256);
  CHECK(accepted_session<get_cell>("cell.get", R"({"cell":"a","text_limit":0})").text_limit == 0);
  CHECK(accepted_session<wait_cell>("cell.wait", R"({"cell":"a","text_limit":1048576})").text_limit == 1'048'576);
  for (auto const* limit : {"1", "255", "1048577", "-1"}) {
    auto const problem = refused("run", R"({"code":"1","text_limit":)" + std::string(limit) + "}");
    CHECK(problem.code == error_code::invalid_params);
    CHECK(problem.message.find("wanted 0 or an integer from 256 to 1048576") != std::string::npos);
  }
}

TEST_CASE("the supervisor's methods become their messages") {
  auto const sessions =
      accepted_supervisor<list_sessions>("session.list", R"({"owner":"ada","child":"c","state":"idle","limit":1000,"after":"9"})");
  CHECK(sessions.owner == "ada");
  CHECK(sessions.child == "c");
  CHECK(sessions.state == "idle");
  CHECK(sessions.limit == 1000);
  auto const all = accepted_supervisor<list_kernels>("kernel.list", "{}");
  CHECK_FALSE(all.owner);
  CHECK(all.limit == 100);
  CHECK(accepted_supervisor<list_kernels>("kernel.list", R"({"session":"s","state":"busy"})").session == "s");
  auto const saving = accepted_supervisor<stop_kernel>("kernel.stop", R"({"kernel":"k-1"})");
  CHECK(saving.kernel.text == "k-1");
  CHECK(saving.save);
  CHECK_FALSE(accepted_supervisor<stop_kernel>("kernel.stop", R"({"kernel":"k-1","save":false})").save);
  auto const jobs =
      accepted_supervisor<list_jobs>("job.list", R"({"owner":"ada","session":"s","state":"lost","limit":2,"after":"j-1"})");
  CHECK(jobs.owner == "ada");
  CHECK_FALSE(jobs.child);
  CHECK(jobs.session == "s");
  CHECK(jobs.state == storage::job_state::lost);
  CHECK(jobs.limit == 2);
  CHECK(jobs.after == "j-1");
  CHECK_FALSE(accepted_supervisor<list_jobs>("job.list", "{}").state);
  CHECK(accepted_supervisor<stop_job>("job.stop", R"({"job":"j-1"})").job.text == "j-1");
  auto const page = accepted_supervisor<read_job_output>("job.output", R"({"job":"j-1","offset":7})");
  CHECK(page.job.text == "j-1");
  CHECK(page.offset == 7);
  CHECK(page.limit == 65'536);
  CHECK(accepted_supervisor<list_notices>("notice.list", R"({"session":"s"})").owner == "default");
  CHECK(accepted_supervisor<ack_notices>("notice.ack", R"({"ids":["n-1","n-2"]})").ids.size() == 2);
  accepted_supervisor<get_status>("status", "{}");
  auto const events = accepted_supervisor<subscribe_events>("event.subscribe", R"({"types":["notice"],"owner":"ada","since":4})");
  CHECK(events.types == std::vector<std::string>{"notice"});
  CHECK(events.since == 4u);
  CHECK(accepted_supervisor<shut_down>("shutdown", R"({"kernels":true})").kernels);
  CHECK_FALSE(accepted_supervisor<shut_down>("shutdown", "{}").kernels);
}

TEST_CASE("an unknown method is refused and named") {
  auto const problem = refused("no.such", "{}");

  CHECK(problem.code == error_code::unknown_method);
  CHECK(problem.message.find("no.such") != std::string::npos);
}

TEST_CASE("an unknown param is refused and named, as are those that are not built") {
  for (std::string name : {"colour", "tools", "text_limit"}) {
    auto const problem = refused("run", R"({"code":"1",")" + name + R"(":1})");
    CHECK(problem.code == error_code::invalid_params);
    CHECK(problem.message.find(name) != std::string::npos);
    CHECK(problem.data.at("param").as_string() == name);
  }
  CHECK(refused("kernel.stop", R"({"kernel":"k-1","kill":true})").code == error_code::invalid_params);
}

namespace {

/// Something that every required param of the method takes, but for one.
json::object required_but(method const& each, std::string_view left_out) {
  json::object params;
  for (auto const& param : each.params) {
    if (!param.required || param.name == left_out) continue;
    params[param.name] = param.type == param_type::ids       ? json::value(json::array{})
                         : param.type == param_type::integer ? json::value(0)
                                                             : json::value("x");
  }
  return params;
}

}  // namespace

TEST_CASE("a missing required param is refused and named") {
  CHECK(refused("run", "{}").message == "cannot accept run: code is missing, wanted a string of at most 1048576 bytes");
  for (auto const& each : methods())
    for (auto const& param : each.params)
      if (param.required)
        CHECK(refused(each.name, json::serialize(required_but(each, param.name))).data.at("param").as_string() == param.name);
}

TEST_CASE("every param of every method refuses a value of another type") {
  for (auto const& each : methods())
    for (auto const& param : each.params) {
      auto const wrong = json_type(param.type) == "integer" ? "\"7\"" : "7";
      auto params = required_but(each, param.name);
      params[param.name] = json::parse(wrong);
      auto const checked = read_call(each.name, params);
      INFO(each.name << " " << param.name);
      REQUIRE_FALSE(checked);
      CHECK(checked.error().code == error_code::invalid_params);
      CHECK(checked.error().data.at("param").as_string() == param.name);
    }
}

TEST_CASE("ids are 1 to 128 characters of their alphabet") {
  for (auto const& id : std::vector<std::string>{"a", "A.b_c:d-9", std::string(128, 'x')})
    CHECK(read_call("session.get", object(R"({"session":")" + id + "\"}")));
  for (auto const& id : std::vector<std::string>{"", "a b", "a/b", "../up", "\\u00e9", "a\\u0000", std::string(129, 'x')})
    CHECK(refused("session.get", R"({"session":")" + id + "\"}").data.at("param").as_string() == "session");
}

TEST_CASE("numbers out of range are refused with their range") {
  for (std::string limit : {"0", "1001", "-1", "1.5", "18446744073709551615"}) {
    auto const problem = refused("cell.list", R"({"limit":)" + limit + "}");
    CHECK(problem.code == error_code::invalid_params);
    CHECK(problem.message.find(", wanted an integer from 1 to 1000") != std::string::npos);
  }
  CHECK(refused("run", R"({"code":"1","timeout_ms":-1})").code == error_code::invalid_params);
}

TEST_CASE("a source above 1 MiB is too large") {
  json::object params{{"code", std::string(1 << 20, 'x')}};
  CHECK(read_call("run", params));

  params["code"] = std::string((1 << 20) + 1, 'x');

  CHECK(read_call("run", params).error().code == error_code::too_large);
}

TEST_CASE("environment variables have usable names and texts") {
  for (std::string env :
       {R"({"":"x"})", R"({"1A":"x"})", R"({"A=B":"x"})", R"({"A B":"x"})", R"({"A":1})", R"({"A":null})", R"({"A":"x\u0000"})"})
    CHECK(refused("run", R"({"code":"1","env":)" + env + "}").code == error_code::invalid_params);
  json::object const large{{"code", "1"}, {"env", {{"A", std::string(200'000, 'x')}}}};
  CHECK(read_call("run", large).error().code == error_code::too_large);
}

TEST_CASE("paths are absolute and hold no NUL") {
  for (std::string cwd : {R"("")", R"("tmp")", R"("./tmp")", R"("/a\u0000b")"})
    CHECK(refused("run", R"({"code":"1","cwd":)" + cwd + "}").code == error_code::invalid_params);
  CHECK(refused("run", R"({"code":"1","python":""})").code == error_code::invalid_params);
  CHECK(refused("run", R"({"code":"1","python":"p\u0000"})").code == error_code::invalid_params);
}

TEST_CASE("lists refuse what is no word of theirs and more than their limit") {
  CHECK(refused("event.subscribe", R"({"types":["no_such"]})").message.find("no_such") != std::string::npos);
  CHECK(refused("event.subscribe", R"({"types":[1]})").code == error_code::invalid_params);
  CHECK(refused("notice.ack", R"({"ids":["a b"]})").code == error_code::invalid_params);
  json::array ids(1001, json::value("n-1"));
  CHECK(read_call("notice.ack", {{"ids", ids}}).error().code == error_code::invalid_params);
  CHECK(refused("cell.list", R"({"status":"fine"})").message.find("queued") != std::string::npos);
}

TEST_CASE("names are unique, every method is described, every example passes the table") {
  std::set<std::string_view> names;
  for (auto const& each : methods()) {
    INFO(each.name);
    CHECK(names.insert(each.name).second);
    CHECK_FALSE(each.sentence.empty());
    CHECK_FALSE(each.result.sentence.empty());
    CHECK_FALSE(each.examples.empty());
    for (auto const& example : each.examples) {
      CHECK(read_call(each.name, object(std::string(example.params))));
      auto const result = json::parse({example.result.data(), example.result.size()});
      CHECK((each.result.object == "string" ? result.is_string() : result.is_object()));
    }
    for (auto const& param : each.params) CHECK_FALSE(param.sentence.empty());
    for (auto code : each.errors)
      CHECK(std::any_of(described_errors().begin(), described_errors().end(),
                        [&](auto const& described) { return described.code == code; }));
  }
}

TEST_CASE("a refusal says what was found and what is wanted") {
  std::string const id = "1 to 128 characters of A-Z a-z 0-9 . _ : -";
  for (auto const& [method, params, message] : std::vector<std::array<std::string, 3>>{
           {"kernel.stop", R"({"id":"k-1","kernel":"k-1"})", "cannot accept kernel.stop: unknown param 'id'; it takes kernel save"},
           {"status", R"({"verbose":true})", "cannot accept status: unknown param 'verbose'; it takes none"},
           {"kernel.stop", "{}", "cannot accept kernel.stop: kernel is missing, wanted an id: " + id},
           {"session.get", R"({"session":""})", "cannot accept session.get: session is an empty string, wanted an id: " + id},
           {"session.get", R"({"session":"a b"})", "cannot accept session.get: session is 'a b', wanted an id: " + id},
           {"run", R"({"code":7})", "cannot accept run: code is 7, wanted a string of at most 1048576 bytes"},
           {"run", R"({"code":"1","reset":"yes"})", "cannot accept run: reset is 'yes', wanted true or false"},
           {"run", R"({"code":"1","wait_ms":"5"})", "cannot accept run: wait_ms is '5', wanted an integer from 0 to 31536000000"},
           {"run", R"({"code":"1","cwd":"tmp"})",
            "cannot accept run: cwd is 'tmp', wanted an absolute path of at most 4096 bytes without NUL"},
           {"run", R"({"code":"1","cwd":""})",
            "cannot accept run: cwd is empty, wanted an absolute path of at most 4096 bytes without NUL"},
           {"run", R"({"code":"1","python":"a\u0000"})",
            "cannot accept run: python has a NUL, wanted a string of 1 to 4096 bytes without NUL"},
           {"run", R"({"code":"1","environment":"a moon"})",
            "cannot accept run: environment is 'a moon', wanted an id: 1 to 128 characters of A-Z a-z 0-9 . _ : -"},
           {"run", R"({"code":"1","env":["A=1"]})",
            "cannot accept run: env is a list, wanted an object of strings, at most 131072 bytes in all"},
           {"run", R"({"code":"1","env":{"A":true}})", "cannot accept run: env has A as true, wanted a string"},
           {"kernel.list", R"({"state":"fine"})",
            "cannot accept kernel.list: state is 'fine', wanted one of: starting idle busy unreachable orphan"},
           {"notice.ack", R"({"ids":["n 1"]})",
            "cannot accept notice.ack: ids holds 'n 1', wanted a list of at most 1000 ids: each " + id},
       })
    CHECK(refused(method, params).message == message);
  CHECK(refused("event.subscribe", R"({"types":["no_such"]})")
            .message.starts_with("cannot accept event.subscribe: types holds 'no_such', wanted a list of these: "));
}

TEST_CASE("a refusal shows no part of a character, however long the name that it refuses") {
  std::string name = "a";
  for (int i = 0; i < 60; ++i) name += "\xc3\xa9";

  CHECK(refused(name, "{}").message == "unknown method a string of 121 bytes; rpc.discover lists the methods");
  auto const problem = refused("status", "{\"" + name + "\":1}");
  CHECK(problem.message == "cannot accept status: unknown param a string of 121 bytes; it takes none");
  CHECK(problem.data.at("param").as_string() == "a string of 121 bytes");
}

TEST_CASE("rpc.discover answers the whole table") {
  auto const all = object(discover_text());

  CHECK(all.at("methods").as_array().size() == methods().size());
  auto const& run = all.at("methods").as_array().at(0).as_object();
  CHECK(run.at("name").as_string() == "run");
  CHECK(run.at("params").as_array().size() == find_method("run")->params.size());
  CHECK(std::holds_alternative<discover>(*read_call("rpc.discover", {})));
}

}  // namespace
}  // namespace holdfast::front
