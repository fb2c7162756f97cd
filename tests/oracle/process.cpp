// SPDX-License-Identifier: Apache-2.0
#include "tests/oracle/process.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "core/fd.hpp"

namespace fastlet::oracle {

namespace {

// The oracle itself is tied to one CPU; its children are not.
void allCpus() {
    cpu_set_t cpus;
    CPU_ZERO(&cpus);
    for (int i = 0; i < CPU_SETSIZE; ++i) CPU_SET(i, &cpus);
    sched_setaffinity(0, sizeof cpus, &cpus);
}

[[noreturn]] void becomeProgram(const std::vector<std::string>& arguments, int input, int output, int errors) {
    allCpus();
    ::dup2(input, 0);
    ::dup2(output, 1);
    ::dup2(errors, 2);
    std::vector<char*> words;
    for (const auto& argument : arguments) words.push_back(const_cast<char*>(argument.c_str()));
    words.push_back(nullptr);
    ::execvp(words[0], words.data());
    ::_exit(127);
}

std::string content(int fd) {
    std::string text;
    char block[4096];
    ssize_t size = 0;
    ::lseek(fd, 0, SEEK_SET);
    while ((size = ::read(fd, block, sizeof block)) > 0) text.append(block, static_cast<std::size_t>(size));
    return text;
}

int exitCode(int status) { return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status); }

}  // namespace

Result<Finished> run(const std::vector<std::string>& arguments, const std::string& input) {
    // Files in memory instead of pipes: nobody has to read and write at the same time.
    const Fd in(::memfd_create("input", MFD_CLOEXEC));
    const Fd out(::memfd_create("output", MFD_CLOEXEC));
    const Fd errors(::memfd_create("errors", MFD_CLOEXEC));
    if (::write(in.get(), input.data(), input.size()) != static_cast<ssize_t>(input.size())) {
        return Error::fromErrno("cannot write the input of " + arguments[0], errno);
    }
    ::lseek(in.get(), 0, SEEK_SET);
    const pid_t pid = ::fork();
    if (pid < 0) return Error::fromErrno("fork", errno);
    if (pid == 0) becomeProgram(arguments, in.get(), out.get(), errors.get());
    int status = 0;
    ::waitpid(pid, &status, 0);
    return Finished{exitCode(status), content(out.get()), content(errors.get())};
}

Result<pid_t> start(const std::vector<std::string>& arguments, const std::string& log) {
    const Fd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
    const Fd errors(::open(log.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
    const pid_t pid = ::fork();
    if (pid < 0) return Error::fromErrno("fork", errno);
    if (pid == 0) becomeProgram(arguments, null.get(), errors.get(), errors.get());
    return pid;
}

Result<int> terminate(pid_t pid, int seconds) {
    const Fd handle(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
    ::kill(pid, SIGTERM);
    pollfd waiting{handle.get(), POLLIN, 0};
    const bool ended = ::poll(&waiting, 1, seconds * 1000) == 1;
    if (!ended) ::kill(pid, SIGKILL);
    int status = 0;
    ::waitpid(pid, &status, 0);
    if (!ended) return Error::make(fmt::format("process {} did not end within {} s of SIGTERM", pid, seconds));
    return exitCode(status);
}

}  // namespace fastlet::oracle
