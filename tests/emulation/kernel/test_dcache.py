"""Who prunes a part of the directory cache that somebody else is freeing goes on after a while.

Simulated time stands still while one looks again and again whether the other is done, so nothing
would ever make it give way.
"""

from pathlib import Path

import pytest

from tests.kernels import TODAY, load_module, needs_today, run_script

pytestmark = [
    pytest.mark.kernel,
    pytest.mark.parametrize("series", ["6.12", pytest.param(TODAY, marks=needs_today)]),
]

#: A file system of three names. It takes 10 ms to free one, and two tasks prune them at once.
PRUNES = """
#include <linux/delay.h>
#include <linux/fs.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/mount.h>
static struct dentry *top;
static void slowly(struct dentry *dentry)
{
	msleep(10);
}
static const struct dentry_operations slow = { .d_release = slowly };
static int other(void *data)
{
	shrink_dcache_parent(top);
	return 0;
}
static int __init prunes_init(void)
{
	static const char *const names[] = { "a", "b", "c" };
	struct vfsmount *mount = kern_mount(get_fs_type("tmpfs"));
	int i;

	if (IS_ERR(mount))
		return PTR_ERR(mount);
	top = mount->mnt_root;
	for (i = 0; i < ARRAY_SIZE(names); i++) {
		struct dentry *dentry = d_alloc_name(top, names[i]);

		dentry->d_op = &slow;
		d_add(dentry, NULL);
		dput(dentry);
	}
	kthread_run(other, NULL, "other");
	msleep(5);
	pr_info("prunes: begins\\n");
	shrink_dcache_parent(top);
	pr_info("prunes: ends\\n");
	msleep(100);
	return 0;
}
module_init(prunes_init);
MODULE_LICENSE("GPL");
"""

#: Trees of processes with threads exit while another process reads what /proc says of them.
TREES = """
import os, threading
status('booted')

def read(path):
    try:
        names = os.listdir(path)
    except OSError:
        return
    for name in names:
        try:
            with open(f'{path}/{name}') as file:
                file.read(100)
        except (OSError, UnicodeDecodeError):
            pass

reader = os.fork()
if not reader:
    while True:
        for pid in os.listdir('/proc'):
            if pid.isdigit() and int(pid) > os.getpid():
                for path in ('', '/task', f'/task/{pid}', '/fd', '/ns'):
                    read(f'/proc/{pid}{path}')
        os.sched_yield()
for turn in range(40):
    child = os.fork()
    if not child:
        threads = [threading.Thread(target=os.listdir, args=('/proc/self/task',)) for _ in '1234']
        for thread in threads:
            thread.start()
        grandchild = os.fork()
        if grandchild:
            os.waitpid(grandchild, 0)
        os._exit(0)
    os.waitpid(child, 0)
os.kill(reader, 9)
os.waitpid(reader, 0)
status('ended')
"""


def test_who_prunes_what_another_is_freeing_goes_on(tmp_path: Path, series: str) -> None:
    assert load_module(series, PRUNES, tmp_path).step("loaded")["error"] == 0


def test_trees_of_processes_end_while_another_reads_of_them(tmp_path: Path, series: str) -> None:
    assert run_script(TREES, tmp_path, series).step("ended")
