// vcsim: VMware's vCenter simulator behind the few flags that the tests need.
//
// It prints its address on one line once it serves, and ends on SIGTERM or when its standard input closes,
// so that a test that dies leaves no server behind.
package main

import (
	"crypto/tls"
	"flag"
	"fmt"
	"io"
	"log"
	"net/url"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"

	"github.com/vmware/govmomi/simulator"

	_ "github.com/vmware/govmomi/pbm/simulator"
	_ "github.com/vmware/govmomi/vapi/simulator"
)

func main() {
	model := simulator.VPX()
	listen := flag.String("listen", "127.0.0.1:0", "address to listen on")
	user := flag.String("username", "user", "the only user name that is accepted")
	password := flag.String("password", "pass", "the only password that is accepted")
	useTLS := flag.Bool("tls", true, "serve HTTPS")
	certificate := flag.String("issue", "", "serve a new certificate: valid, expired or other-name (built-in when empty)")
	caFile := flag.String("ca", "", "where to write the CA of that certificate")
	stdin := flag.Bool("until-stdin-closes", false, "end when standard input closes")
	taskDelay := flag.String("task-delay", "", "milliseconds per task: PowerOn:500,CloneVm:300")
	methodDelay := flag.String("method-delay", "", "milliseconds per method: CloneVM_Task:500,PowerOnVM_Task:300")
	flag.BoolVar(&model.Autostart, "autostart", true, "power on the VMs")
	flag.IntVar(&model.Datacenter, "dc", model.Datacenter, "datacenters")
	flag.IntVar(&model.Cluster, "cluster", model.Cluster, "clusters per datacenter")
	flag.IntVar(&model.ClusterHost, "host", model.ClusterHost, "hosts per cluster")
	flag.IntVar(&model.Host, "standalone-host", model.Host, "standalone hosts per datacenter")
	flag.IntVar(&model.Pool, "pool", model.Pool, "resource pools per cluster")
	flag.IntVar(&model.Datastore, "ds", model.Datastore, "datastores")
	flag.IntVar(&model.Pod, "pod", model.Pod, "datastore clusters")
	flag.IntVar(&model.Machine, "vm", model.Machine, "VMs per resource pool and standalone host")
	flag.IntVar(&model.DelayConfig.Delay, "delay", 0, "milliseconds before each answer")
	flag.Parse()

	model.DelayConfig.MethodDelay = delays("-method-delay", *methodDelay)
	if *taskDelay != "" {
		simulator.TaskDelay.MethodDelay = delays("-task-delay", *taskDelay)
		// With the lock handed over to a slow task, nobody could read the object meanwhile.
		simulator.TaskDelay.MethodDelay["LockHandoff"] = 0
	}
	if err := model.Create(); err != nil {
		log.Fatal(err)
	}
	defer model.Remove()

	model.Service.Listen = &url.URL{Host: *listen, User: url.UserPassword(*user, *password)}
	model.Service.RegisterEndpoints = true
	if *useTLS {
		model.Service.TLS = new(tls.Config)
		if *certificate != "" {
			pair, err := issue(*certificate, *caFile)
			if err != nil {
				log.Fatal(err)
			}
			model.Service.TLS.Certificates = []tls.Certificate{pair}
		}
	}
	server := model.Service.NewServer()
	fmt.Printf("serving %s://%s\n", server.URL.Scheme, server.URL.Host)

	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGTERM, syscall.SIGINT)
	if *stdin {
		go func() {
			_, _ = io.Copy(io.Discard, os.Stdin)
			stop <- syscall.SIGTERM
		}()
	}
	<-stop
	// Not server.Close(): it waits for long polls whose clients are gone.
}

func delays(name, list string) map[string]int {
	parsed := map[string]int{}
	for _, pair := range strings.FieldsFunc(list, func(r rune) bool { return r == ',' }) {
		method, value, _ := strings.Cut(pair, ":")
		ms, err := strconv.Atoi(value)
		if err != nil {
			log.Fatalf("%s %q: %s", name, pair, err)
		}
		parsed[method] = ms
	}
	return parsed
}
