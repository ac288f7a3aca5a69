#!/bin/sh
# A CDS worker in little: signs in, takes its job, runs it, tells how it went, signs out.
set -u

fail() {
	echo "worker: $*" >&2
	exit 1
}

# field NAME: sets $value to that member of the JSON in $config; empty if there is none. Escapes stay as they are.
field() {
	value=
	case $config in *"\"$1\":"*) ;; *) return ;; esac
	value=${config#*"\"$1\":"}
	while [ "${value# }" != "$value" ]; do value=${value# }; done
	case $value in
	'"'*) value=${value#\"} value=${value%%\"*} ;;
	'{'*) value=${value#\{} value=${value%%\}*} ;;
	*) value=${value%%[,\}]*} ;;
	esac
}

# The variables that the hatchery wants the job to have: "NAME":"value","NAME":"value".
inject() {
	rest=$value
	while [ "${rest#*\":}" != "$rest" ]; do
		key=${rest#*\"} key=${key%%\"*}
		rest=${rest#*"\"$key\":"} rest=${rest#*\"}
		export "$key=${rest%%\"*}"
		rest=${rest#*\"}
	done
}

# send PATH [BODY | @FILE]: sets $answer to the head and perhaps the body of the answer; empty if none came.
send() {
	if command -v curl >/dev/null; then
		answer=$(curl -s -i -m 120 -X POST -H "Authorization: Bearer $session" -H 'Expect:' \
			-H 'Content-Type: application/json' --data-binary "${2-}" "$api$1")
	else
		case ${2-} in
		@*) set -- "$1" "--post-file=${2#@}" ;;
		*) set -- "$1" "--post-data=${2-}" ;;
		esac
		answer=$(wget -q -S -T 120 -O /dev/null --header="Authorization: Bearer $session" \
			--header='Content-Type: application/json' "$2" "$api$1" 2>&1)
		answer=${answer#  }
	fi
}

# get PATH FILE
get() {
	if command -v curl >/dev/null; then
		curl -s -f -m 120 -H "Authorization: Bearer $session" -o "$2" "$api$1"
	else
		wget -q -T 120 --header="Authorization: Bearer $session" -O "$2" "$api$1"
	fi
}

# again COMMAND...: up to five times, while no answer comes or the server is in trouble.
again() {
	tries=5
	answer=
	until "$@" && case $answer in '' | HTTP/1.?\ 2*) ;; *) false ;; esac; do
		tries=$((tries - 1))
		case $answer in HTTP/1.?\ [34]*) return 1 ;; esac
		[ "$tries" -gt 0 ] || return 1
		sleep 1
	done
}

# post PATH [BODY | @FILE]: fails unless it is done.
post() { again send "$@"; }

# is_over PATH: whether somebody has ended the job that is there. Trouble is no end.
is_over() {
	if command -v curl >/dev/null; then
		answer=$(curl -s -i -m 120 -H "Authorization: Bearer $session" "$api$1")
	else
		answer=$(wget -q -S -T 120 -O - --header="Authorization: Bearer $session" "$api$1" 2>&1)
		answer=${answer#  }
	fi
	case $answer in
	HTTP/1.?\ 2*'"status":"Building"'*) return 1 ;;
	HTTP/1.?\ 2* | HTTP/1.?\ 40[34]*) return 0 ;;
	*) return 1 ;;
	esac
}

# watch REFRESH JOB SCRIPT: looks every five seconds whether the job is over, and ends the script then; says every half
# minute that the worker is still there. Until it is told to stop.
watch() {
	trap 'kill "$sleeping"; exit 0' TERM
	while :; do
		for _ in 1 2 3 4 5 6; do
			sleep 5 &
			sleeping=$!
			wait "$sleeping"
			if is_over "$2"; then
				: >"$work/over"
				kill "$3"
				exit 0
			fi
		done
		post "$1"
	done
}

[ "${CI:-}" = 1 ] && fail "this runs inside a CDS job already: CI=1"
[ -n "${CDS_CONFIG:-}" ] || fail "CDS_CONFIG is not set"
config=$(printf %s "$CDS_CONFIG" | base64 -d) || fail "CDS_CONFIG is not base64"

field api_endpoint && api=${value%/}
field api_token && session=$value
field booked_job_id && booked=$value
field run_job_id && run=$value
field name && HATCHERY_WORKER=$value
field hatchery_name && HATCHERY_NAME=$value
field region && HATCHERY_REGION=$value
field model && HATCHERY_MODEL=$value
field basedir && BASEDIR=${value:-${TMPDIR:-/tmp}}
export BASEDIR HATCHERY_NAME HATCHERY_WORKER HATCHERY_REGION HATCHERY_MODEL
field inject_env_vars && inject
[ -n "$api" ] && [ -n "$session" ] || fail "CDS_CONFIG has no api_endpoint or no api_token"

if [ -n "$run" ]; then
	job=$run
	of_job=/v2/queue/$HATCHERY_REGION/job/$job
	sign_in=$of_job/worker/signin take=$of_job/worker/take refresh=$of_job/worker/refresh
	look=$of_job result=$of_job/result sign_out=$of_job/worker/signout
else
	job=$booked
	of_job=/queue/workflows/$job
	sign_in=/auth/consumer/worker/signin take=$of_job/take refresh=/worker/refresh
	look=$of_job/infos result=$of_job/result sign_out=/auth/consumer/worker/signout
fi
[ "${1:-}" = register ] || [ -n "$job" ] || fail "CDS_CONFIG has no booked_job_id and no run_job_id"

found=
for binary in sh git gpg curl wget make; do
	command -v "$binary" >/dev/null && found="$found${found:+,}\"$binary\""
done
post "$sign_in" "{\"BinaryCapabilities\":[$found],\"Version\":\"snapshot\",\"OS\":\"linux\",\"Arch\":\"amd64\"}" ||
	fail "could not sign in: $answer"
jwt=${answer#*[Xx]-[Cc][Dd][Ss]-[Jj][Ww][Tt]: }
jwt=${jwt%%[!A-Za-z0-9._-]*}
[ -n "$jwt" ] || fail "no session came with the sign-in"
session=$jwt

if [ "${1:-}" = register ]; then
	post "$sign_out" || fail "could not sign out: $answer"
	exit 0
fi

work=$BASEDIR/cds-worker-$$
mkdir -p "$work" || fail "could not make $work"
trap 'rm -rf "$work"' EXIT
post "$take" || fail "could not take job $job: $answer"
again get "/sim/job/$job/script" "$work/script" || fail "could not get the script of job $job"

(cd "$work" && unset CDS_CONFIG && exec sh -e ./script) >"$work/log" 2>&1 </dev/null &
script=$!
watch "$refresh" "$look" "$script" >/dev/null 2>&1 &
watching=$!
status=Success
wait "$script" || status=Fail
kill "$watching" 2>/dev/null
if [ -e "$work/over" ]; then
	echo "worker: job $job was ended by somebody" >&2
	post "$sign_out" || fail "could not sign out: $answer"
	exit 0
fi

post "/sim/job/$job/log" "@$work/log" || echo "worker: could not send the log: $answer" >&2
now=$(date -u +%Y-%m-%dT%H:%M:%SZ)
if [ -n "$run" ]; then
	post "$result" "{\"status\":\"$status\",\"time\":\"$now\"}"
else
	post "$result" "{\"buildID\":$job,\"status\":\"$status\",\"duration\":\"0s\",\"remoteTime\":\"$now\"}"
fi || echo "worker: could not tell the result of job $job: $answer" >&2
post "$sign_out" || fail "could not sign out: $answer"
