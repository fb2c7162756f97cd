// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cerrno>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace fastlet {

/// What went wrong, in one sentence, and what the reader can do about it.
/// A function either returns an Error or logs it, never both.
struct Error {
    std::string message;
    std::string hint;  ///< empty when there is nothing useful to suggest
    int code = 0;      ///< errno value where a system call was the cause, else 0

    static Error make(std::string message, std::string hint = {}, int code = 0) {
        return Error{std::move(message), std::move(hint), code};
    }

    /// "what: strerror(err)"; err is a positive errno value.
    static Error fromErrno(std::string_view what, int err, std::string hint = {}) {
        return Error{std::string(what) + ": " + std::strerror(err), std::move(hint), err};
    }

    /// Puts "prefix: " before the message, to say what was being attempted.
    Error withContext(std::string_view prefix) && {
        message = std::string(prefix) + ": " + message;
        return std::move(*this);
    }
};

/// A value or an Error. Must be looked at; reading the wrong side is a programming error (throws).
template <class T>
class [[nodiscard]] Result {
public:
    Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
    Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

    [[nodiscard]] bool ok() const { return state_.index() == 0; }
    explicit operator bool() const { return ok(); }

    T& operator*() & { return std::get<0>(state_); }
    const T& operator*() const& { return std::get<0>(state_); }
    T&& operator*() && { return std::get<0>(std::move(state_)); }
    T* operator->() { return &std::get<0>(state_); }
    const T* operator->() const { return &std::get<0>(state_); }

    [[nodiscard]] const Error& error() const& { return std::get<1>(state_); }
    [[nodiscard]] Error&& error() && { return std::get<1>(std::move(state_)); }

private:
    std::variant<T, Error> state_;
};

template <>
class [[nodiscard]] Result<void> {
public:
    Result() = default;
    Result(Error error) : error_(std::move(error)) {}

    [[nodiscard]] bool ok() const { return !error_; }
    explicit operator bool() const { return ok(); }
    [[nodiscard]] const Error& error() const& { return *error_; }
    [[nodiscard]] Error&& error() && { return std::move(*error_); }

private:
    std::optional<Error> error_;
};

using Status = Result<void>;

}  // namespace fastlet

// NOLINTBEGIN(bugprone-macro-parentheses): `tmp` and `var` are declared, they cannot stand in parentheses.
#define FASTLET_CONCAT_INNER(a, b) a##b
#define FASTLET_CONCAT(a, b) FASTLET_CONCAT_INNER(a, b)
#define FASTLET_TRY_INNER(tmp, var, expr)      \
    auto tmp = (expr);                         \
    if (!(tmp)) return std::move(tmp).error(); \
    auto var = *std::move(tmp)

// NOLINTEND(bugprone-macro-parentheses)

/// FASTLET_TRY(name, expression): declares `name` with the value, or returns the Error to the caller.
#define FASTLET_TRY(var, expr) FASTLET_TRY_INNER(FASTLET_CONCAT(tryResult, __LINE__), var, expr)
/// FASTLET_CHECK(expression): returns the Error of a Status to the caller.
#define FASTLET_CHECK(expr)                                                  \
    do {                                                                     \
        if (auto status = (expr); !status) return std::move(status).error(); \
    } while (false)
