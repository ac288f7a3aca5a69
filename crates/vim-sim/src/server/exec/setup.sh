# Becomes the first process of a guest: makes the view that its programs have of the machine, and lives until its
# standard input ends. Runs with all rights inside namespaces of its own and none outside.
fail() { echo "failed: $1" >&2; exit 1; }

view=$GUEST/view
[ -p "$GUEST/power" ] || mkfifo "$GUEST/power" || fail 'no pipe can be made'
mount --rbind / "$view" || fail 'the root cannot be mounted a second time'
# Everything that is mounted becomes read-only; options that are there already must be repeated.
while read -r _ _ _ _ at options _; do
    case $at in
    "$view" | "$view"/*)
        case $at in *\\*) at=$(printf '%b' "$(printf '%s' "$at" | sed 's/\\/\\0/g')") ;; esac
        mount -o "remount,bind,$options,ro" "$at" || fail "$at cannot be made read-only"
        ;;
    esac
done </proc/self/mountinfo

# What a guest may write to is its own.
for place in tmp:tmp usr-local:usr/local root:root home:home var-tmp:var/tmp; do
    [ -d "$view/${place#*:}" ] || continue
    mount --bind "$GUEST/${place%%:*}" "$view/${place#*:}" || fail "/${place#*:} cannot be replaced"
done

# Sockets of the host are not the guest's. Names still have to be found.
resolver=$(cat /etc/resolv.conf 2>/dev/null)
resolver_at=$(readlink -f /etc/resolv.conf)
mount -t tmpfs -o mode=755,size=16m tmpfs "$view/run" || fail '/run cannot be replaced'
case $resolver_at in
/run/*) mkdir -p "$view${resolver_at%/*}" && printf '%s\n' "$resolver" >"$view$resolver_at" ;;
esac

# Nor are its devices, save those that are harmless.
mount -t tmpfs -o mode=755,size=64m tmpfs "$view/dev" || fail '/dev cannot be replaced'
for device in null zero full random urandom tty; do
    : >"$view/dev/$device"
    mount --bind "/dev/$device" "$view/dev/$device" || fail "/dev/$device is missing"
done
mkdir -m 1777 "$view/dev/shm"
ln -s /proc/self/fd "$view/dev/fd"
ln -s fd/0 "$view/dev/stdin"
ln -s fd/1 "$view/dev/stdout"
ln -s fd/2 "$view/dev/stderr"

# Some containers forbid a new one; then that of the host stays, read-only, which shows more than it should.
if mount -t proc proc "$view/proc" 2>/dev/null; then
    mount -o remount,bind,ro,nosuid,nodev,noexec "$view/proc" || fail '/proc cannot be made read-only'
fi

# The simulator listens at its other end.
: >"$view/run/power"
mount --bind "$GUEST/power" "$view/run/power" || fail '/run cannot be used'
: >"$view/run/machine"
mount --bind "$GUEST/machine" "$view/run/machine" || fail '/run cannot be used'

mkdir "$view/run/outside" && cd "$view" || fail 'the view cannot be entered'
pivot_root . run/outside || fail 'the root cannot be changed'
cd / && umount -l /run/outside && rmdir /run/outside || fail 'the host cannot be left behind'
hostname -- "$NAME" 2>/dev/null

# Programs that act on the machine act on the guest's, wherever they are called.
for name in shutdown poweroff halt reboot sudo systemctl; do
    for folder in /usr/sbin /usr/bin /sbin /bin; do
        [ -e "$folder/$name" ] || continue
        mount --bind /run/machine "$(readlink -f "$folder/$name")" || fail "$folder/$name cannot be replaced"
    done
done

exec 2>/dev/null
echo ready
