// SPDX-License-Identifier: Apache-2.0
#include "agent/control/socket_path.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <cerrno>
#include <filesystem>
#include <utility>

#include "agent/paths.hpp"

namespace fastlet::agent {
namespace {

constexpr mode_t kMode = 0660;
constexpr int kBacklog = 64;

Result<sockaddr_un> addressOf(const std::string& path) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (path.empty() || path.find('\0') != std::string::npos) return Error::make("the path of the control socket is empty");
    if (path.size() >= sizeof(address.sun_path))
        return Error::fromErrno(fmt::format("the path of the control socket, {}", path), ENAMETOOLONG,
                                fmt::format("at most {} bytes fit", sizeof(address.sun_path) - 1));
    path.copy(address.sun_path, path.size());
    return address;
}

// The lock on the folder keeps two starting daemons from taking the same dead socket over. It leaves nothing behind.
Result<Fd> lockFolder(const std::string& path) {
    std::string folder = std::filesystem::path(path).parent_path().string();
    if (folder.empty()) folder = ".";
    if (folder == kRuntimeFolder && ::mkdir(folder.c_str(), 0755) < 0 && errno != EEXIST)
        return Error::fromErrno("cannot create " + folder, errno);
    Fd fd(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!fd.valid())
        return Error::fromErrno(fmt::format("cannot use {} for the control socket", folder), errno,
                                errno == ENOENT ? "create the folder, or choose another path with --socket" : "");
    if (::flock(fd.get(), LOCK_EX | LOCK_NB) < 0)
        return Error::fromErrno(fmt::format("cannot lock {} for the control socket", folder), errno,
                                errno == EWOULDBLOCK ? "another daemon is starting here; try again" : "");
    return fd;
}

// What is at the path: nothing (any more) is success.
Status makeRoom(const std::string& path, const sockaddr_un& address) {
    struct stat status {};
    if (::lstat(path.c_str(), &status) < 0) {
        if (errno == ENOENT) return {};
        return Error::fromErrno("cannot look at " + path, errno);
    }
    if (!S_ISSOCK(status.st_mode))
        return Error::fromErrno(fmt::format("cannot make the control socket: {} is not a socket", path), EEXIST,
                                "move it away, or choose another path with --socket");
    const Fd probe(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!probe.valid()) return Error::fromErrno("cannot open a socket", errno);
    // A full queue of waiting clients (EAGAIN) is a sign of life too.
    if (::connect(probe.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0 || errno == EAGAIN)
        return Error::fromErrno(fmt::format("another daemon answers on {}", path), EADDRINUSE,
                                "stop it first, or choose another path with --socket");
    if (errno == ENOENT) return {};
    if (errno != ECONNREFUSED)
        return Error::fromErrno(fmt::format("cannot tell whether somebody answers on {}", path), errno,
                                "remove it, or choose another path with --socket");
    if (::unlink(path.c_str()) < 0 && errno != ENOENT) return Error::fromErrno("cannot remove the old socket " + path, errno);
    return {};
}

}  // namespace

Result<ListeningSocket> ListeningSocket::open(const std::string& path) {
    FASTLET_TRY(address, addressOf(path));
    FASTLET_TRY(lock, lockFolder(path));
    FASTLET_CHECK(makeRoom(path, address));
    Fd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!fd.valid()) return Error::fromErrno("cannot open a socket", errno);
    // The mode of the file comes from the socket, less the umask; so it is never wider than kMode.
    if (::fchmod(fd.get(), kMode) < 0) return Error::fromErrno("cannot set the mode of a socket", errno);
    if (::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) < 0)
        return Error::fromErrno("cannot make the control socket " + path, errno);
    struct stat status {};
    if (::lstat(path.c_str(), &status) < 0) return Error::fromErrno("cannot look at " + path, errno);
    ListeningSocket socket(std::move(fd), path, status.st_dev, status.st_ino);
    if (::chmod(path.c_str(), kMode) < 0) return Error::fromErrno("cannot set the mode of " + path, errno);
    if (::listen(socket.fd(), kBacklog) < 0) return Error::fromErrno("cannot listen on " + path, errno);
    return socket;
}

ListeningSocket& ListeningSocket::operator=(ListeningSocket&& other) noexcept {
    if (this != &other) {
        close();
        fd_ = std::move(other.fd_);
        path_ = std::move(other.path_);
        device_ = other.device_;
        inode_ = other.inode_;
    }
    return *this;
}

ListeningSocket::~ListeningSocket() { close(); }

void ListeningSocket::close() {
    if (!fd_.valid()) return;
    struct stat status {};
    if (::lstat(path_.c_str(), &status) == 0 && status.st_dev == device_ && status.st_ino == inode_) ::unlink(path_.c_str());
    fd_.reset();
}

}  // namespace fastlet::agent
