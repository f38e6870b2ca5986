// A file system as others are, for tests.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <cerrno>
#include <cstddef>
#include <functional>
#include <thread>

namespace selfnorm {

// body() in a thread in which the system refuses open(..., O_TMPFILE), as NFS does.
inline void without_nameless_files(const std::function<void()>& body) {
  std::thread([&] {
    constexpr unsigned kFlag = O_TMPFILE & ~O_DIRECTORY;
    sock_filter rules[] = {
        {BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(seccomp_data, nr)},
        {BPF_JMP | BPF_JEQ | BPF_K, 0, 3, SYS_openat},
        {BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(seccomp_data, args) + 2 * sizeof(uint64_t)},
        {BPF_JMP | BPF_JSET | BPF_K, 0, 1, kFlag},
        {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ERRNO | EOPNOTSUPP},
        {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW}};
    const sock_fprog program{std::size(rules), rules};
    ASSERT_EQ(::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
    ASSERT_EQ(::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program), 0);
    ASSERT_EQ(::open("/tmp", O_TMPFILE | O_RDWR, 0600), -1);
    body();
  }).join();
}

}  // namespace selfnorm
