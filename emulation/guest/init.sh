#!/bin/sh
# The guest's first process: a writable overlay over the root file system, then the job.
export PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 TZ=UTC0
set -e
mount -t proc proc /proc  # which mount -a looks into
mount -t tmpfs tmpfs /mnt
mkdir /mnt/upper /mnt/work /mnt/root
cat > /mnt/fstab << END
overlay  /mnt/root               overlay   lowerdir=/,upperdir=/mnt/upper,workdir=/mnt/work
proc     /mnt/root/proc          proc
sysfs    /mnt/root/sys           sysfs
cgroup2  /mnt/root/sys/fs/cgroup cgroup2
tmpfs    /mnt/root/run           tmpfs
tmpfs    /mnt/root/tmp           tmpfs
devtmpfs /mnt/root/dev           devtmpfs
devpts   /mnt/root/dev/pts       devpts    X-mount.mkdir
tmpfs    /mnt/root/dev/shm       tmpfs     X-mount.mkdir
none     /mnt/root/job           hostfs    job
END
mount -a -T /mnt/fstab
cd /mnt/root
mount -n --move . /
exec chroot . /usr/bin/python3 -I -B /job/guest/main.py
