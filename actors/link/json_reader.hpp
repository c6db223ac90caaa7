// Strict reading of one JSON object out of hostile text. Used by handshake.cpp and messages.cpp, whose headers stay free of
// Boost.JSON. Bounded in depth and memory; never throws; the first mistake is kept as a text and ends the reading.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <boost/json/array.hpp>
#include <boost/json/monotonic_resource.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

namespace holdfast::link {

/// The fields of one object. After the first mistake every getter answers an empty value, and the text says what it was.
/// Fields that nobody asks for are ignored: later versions may add some.
class json_fields {
 public:
  /// `what` names the object in the error text, such as "done". All three must outlive this.
  json_fields(boost::json::object const& object, std::string_view what, std::string& problem)
      : object_(object), what_(what), problem_(problem) {}

  std::string text(std::string_view key);
  std::optional<std::string> optional_text(std::string_view key);
  /// A count, size, seq or duration: not negative and below 2^63.
  std::uint64_t number(std::string_view key);
  std::int64_t integer(std::string_view key);
  std::optional<std::int64_t> optional_integer(std::string_view key);
  bool flag(std::string_view key);
  /// Missing: the fallback.
  bool flag_or(std::string_view key, bool fallback);
  std::uint64_t number_or(std::string_view key, std::uint64_t fallback);
  boost::json::array const* list(std::string_view key);
  boost::json::object const* object(std::string_view key);
  boost::json::object const* optional_object(std::string_view key);

  bool failed() const { return !problem_.empty(); }
  /// Keeps "cannot read WHAT: field KEY is FOUND, wanted WANTED", unless a mistake is kept already.
  void fail(std::string_view key, std::string_view found, std::string_view wanted);

 private:
  boost::json::value const* required(std::string_view key, std::string_view wanted);
  boost::json::value const* optional(std::string_view key) const;  // null when missing or null

  boost::json::object const& object_;
  std::string_view what_;
  std::string& problem_;
};

/// One parsed payload. Owns the tree; lives on the stack of whoever reads it.
class json_document {
 public:
  /// On failure object() is null and problem() says why.
  explicit json_document(std::string_view text);
  json_document(json_document const&) = delete;
  json_document& operator=(json_document const&) = delete;

  boost::json::object const* object() const { return root_.if_object(); }
  std::string const& problem() const { return problem_; }

 private:
  /// Heap memory up to a budget, then std::bad_alloc: a small text must not become a large tree ("[0,0,0,0...").
  class budgeted_resource final : public boost::json::memory_resource {
   public:
    explicit budgeted_resource(std::size_t budget) : left_(budget) {}

   private:
    void* do_allocate(std::size_t bytes, std::size_t align) override;
    void do_deallocate(void* memory, std::size_t bytes, std::size_t align) override;
    bool do_is_equal(memory_resource const& other) const noexcept override { return this == &other; }

    /// Bytes that may still be handed out.
    std::size_t left_;
  };

  /// Where the tree of a usual message fits without touching the heap.
  std::array<unsigned char, 4096> near_;
  budgeted_resource far_;
  boost::json::monotonic_resource memory_;
  boost::json::value root_;
  std::string problem_;
};

}  // namespace holdfast::link
