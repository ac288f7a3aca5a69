#!/bin/sh
# Stands in for programs that would act on the machine: here they act on the guest's.
tell() {
    echo "$1" >/run/power
    exit 0
}
case ${0##*/} in
sudo)
    while [ $# -gt 0 ]; do
        case $1 in
        --) shift && break ;;
        -u | -g | -p | -C | -D | -R | -T | -U | -h | -r | -t) shift && [ $# -gt 0 ] && shift ;;
        -*) shift ;;
        *=*) export "$1" && shift ;;
        *) break ;;
        esac
    done
    [ $# -gt 0 ] || set -- /bin/sh
    exec "$@"
    ;;
poweroff | halt) tell off ;;
reboot) tell reboot ;;
shutdown)
    for word; do
        case $word in
        -c) exit 0 ;;
        -r | --reboot) tell reboot ;;
        esac
    done
    tell off
    ;;
systemctl)
    for word; do
        case $word in
        poweroff | halt) tell off ;;
        reboot) tell reboot ;;
        esac
    done
    ;;
esac
echo "${0##*/} has no meaning in this guest" >&2
exit 1
