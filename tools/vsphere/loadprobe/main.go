// loadprobe reads VMs the way Go programs do, with govmomi, and prints what it cost: the measure that our own
// client stands beside.
//
//	loadprobe -url https://user:pass@host/sdk -set narrow|hatchery [-rows FILE]
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"net/url"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/vmware/govmomi"
	"github.com/vmware/govmomi/view"
	"github.com/vmware/govmomi/vim25/mo"
)

// The properties that a hatchery in Go lists its VMs with.
var hatchery = []string{"name", "summary", "guest", "config"}

func main() {
	address := flag.String("url", "", "vCenter with user and password")
	set := flag.String("set", "narrow", "which properties: narrow or hatchery")
	paths := flag.String("paths", "", "the narrow properties, separated by commas")
	rows := flag.String("rows", "", "where to write the decoded values")
	flag.Parse()

	ctx := context.Background()
	target, err := url.Parse(*address)
	check(err)
	client, err := govmomi.NewClient(ctx, target, true)
	check(err)
	defer func() { _ = client.Logout(ctx) }()

	wanted := hatchery
	if *set == "narrow" {
		wanted = strings.Split(*paths, ",")
	}
	cpu, began := used(), time.Now()
	all, err := view.NewManager(client.Client).CreateContainerView(ctx, client.ServiceContent.RootFolder, []string{"VirtualMachine"}, true)
	check(err)
	var vms []mo.VirtualMachine
	check(all.Retrieve(ctx, []string{"VirtualMachine"}, wanted, &vms))
	wall := time.Since(began)
	cpu = used() - cpu
	_ = all.Destroy(ctx)

	if *rows != "" {
		text, err := json.Marshal(table(vms))
		check(err)
		check(os.WriteFile(*rows, text, 0o600))
	}
	fmt.Printf("{\"vms\": %d, \"wall_us\": %d, \"cpu_us\": %d}\n", len(vms), wall.Microseconds(), cpu.Microseconds())
}

// table holds what both sides decode, in one form: reference → property → text.
func table(vms []mo.VirtualMachine) map[string]map[string]string {
	all := map[string]map[string]string{}
	for _, vm := range vms {
		row := map[string]string{"name": vm.Name, "power": string(vm.Runtime.PowerState)}
		if vm.Runtime.Host != nil {
			row["host"] = vm.Runtime.Host.Value
		}
		if vm.Config != nil {
			row["template"] = fmt.Sprint(vm.Config.Template)
			row["annotation"] = vm.Config.Annotation
			row["uuid"] = vm.Config.Uuid
			row["instance_uuid"] = vm.Config.InstanceUuid
			row["cpus"] = fmt.Sprint(vm.Config.Hardware.NumCPU)
			row["memory_mb"] = fmt.Sprint(vm.Config.Hardware.MemoryMB)
			if vm.Config.CreateDate != nil {
				row["created"] = fmt.Sprint(vm.Config.CreateDate.UnixNano())
			}
		}
		if vm.Guest != nil {
			row["tools"] = vm.Guest.ToolsRunningStatus
			row["ip"] = vm.Guest.IpAddress
			for _, nic := range vm.Guest.Net {
				row["nics"] += nic.MacAddress + "=" + strings.Join(nic.IpAddress, "+") + ";"
			}
		}
		all[vm.Self.Value] = row
	}
	return all
}

func used() time.Duration {
	var usage syscall.Rusage
	check(syscall.Getrusage(syscall.RUSAGE_SELF, &usage))
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
