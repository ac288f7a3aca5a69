//! What a VM should be like: the objects of clone, reconfigure and customization, one row a type, members in schema
//! order.

use crate::wire::{objects, variants};
use crate::{MoRef, Node};

objects! {
    /// How to clone.
    VirtualMachineCloneSpec {
        location: VirtualMachineRelocateSpec = "location",
        template: bool = "template",
        config: Option<VirtualMachineConfigSpec> = "config",
        customization: Option<CustomizationSpec> = "customization",
        power_on: bool = "powerOn",
        snapshot: Option<MoRef> = "snapshot",
    }

    /// Where a VM goes, and how its disks and cards come along.
    #[derive(Default)]
    VirtualMachineRelocateSpec {
        datastore: Option<MoRef> = "datastore",
        disk_move_type: Option<String> = "diskMoveType",
        pool: Option<MoRef> = "pool",
        host: Option<MoRef> = "host",
        device_change: Vec<VirtualDeviceConfigSpec> = "deviceChange",
    }

    /// What to change of a VM; what is unset stays as it is.
    #[derive(Default)]
    VirtualMachineConfigSpec {
        /// If set, the change is refused when the VM was changed since this version was read.
        change_version: Option<String> = "changeVersion",
        name: Option<String> = "name",
        /// The BIOS UUID, which the guest sees.
        uuid: Option<String> = "uuid",
        /// The UUID that is unique within a vCenter.
        instance_uuid: Option<String> = "instanceUuid",
        guest_id: Option<String> = "guestId",
        annotation: Option<String> = "annotation",
        files: Option<VirtualMachineFileInfo> = "files",
        tools: Option<ToolsConfigInfo> = "tools",
        cpus: Option<i32> = "numCPUs",
        cores_per_socket: Option<i32> = "numCoresPerSocket",
        memory_mb: Option<i64> = "memoryMB",
        device_change: Vec<VirtualDeviceConfigSpec> = "deviceChange",
        extra_config: Vec<OptionValue> = "extraConfig",
        boot_options: Option<VirtualMachineBootOptions> = "bootOptions",
        firmware: Option<String> = "firmware",
    }

    /// Where a VM's files are; `[datastore]` alone lets the server choose the folder.
    VirtualMachineFileInfo {
        vm_path_name: Option<String> = "vmPathName",
    }

    /// How a VM starts.
    #[derive(Default)]
    VirtualMachineBootOptions {
        efi_secure_boot_enabled: Option<bool> = "efiSecureBootEnabled",
        boot_order: Vec<BootableDevice> = "bootOrder",
    }

    /// Start from the CD drive.
    VirtualMachineBootOptionsBootableCdromDevice {}

    /// Start from this disk.
    VirtualMachineBootOptionsBootableDiskDevice {
        device_key: i32 = "deviceKey",
    }

    /// Start over the network, through this card.
    VirtualMachineBootOptionsBootableEthernetDevice {
        device_key: i32 = "deviceKey",
    }

    /// What VMware Tools do.
    ToolsConfigInfo {
        after_power_on: Option<bool> = "afterPowerOn",
    }

    /// A setting by name. Its value states its own type.
    OptionValue {
        key: String = "key",
        value: Node = "value",
    }

    /// A change of one device. The device is kept as it came but for what is changed: its class must not be lost.
    VirtualDeviceConfigSpec {
        operation: Option<String> = "operation",
        file_operation: Option<String> = "fileOperation",
        device: Node = "device",
    }

    /// The network behind a card, on a host's own switch.
    VirtualEthernetCardNetworkBackingInfo {
        device_name: String = "deviceName",
        network: Option<MoRef> = "network",
    }

    /// The network behind a card, on a distributed switch.
    VirtualEthernetCardDistributedVirtualPortBackingInfo {
        port: DistributedVirtualSwitchPortConnection = "port",
    }

    /// The network behind a card, managed by something beside vCenter.
    VirtualEthernetCardOpaqueNetworkBackingInfo {
        opaque_network_id: String = "opaqueNetworkId",
        opaque_network_type: String = "opaqueNetworkType",
    }

    /// A port group of a distributed switch.
    DistributedVirtualSwitchPortConnection {
        switch_uuid: String = "switchUuid",
        portgroup_key: Option<String> = "portgroupKey",
    }

    /// Whether a device is plugged in.
    VirtualDeviceConnectInfo {
        start_connected: bool = "startConnected",
        allow_guest_control: bool = "allowGuestControl",
        connected: bool = "connected",
    }

    /// How the guest is set up when it first starts.
    CustomizationSpec {
        options: Option<CustomizationOptions> = "options",
        identity: CustomizationIdentity = "identity",
        global_ip_settings: CustomizationGlobalIPSettings = "globalIPSettings",
        nic_setting_map: Vec<CustomizationAdapterMapping> = "nicSettingMap",
    }

    /// Nothing to say about Linux but that it is Linux.
    CustomizationLinuxOptions {}

    /// Who a Linux guest is. The domain may be empty, but must be there.
    CustomizationLinuxPrep {
        host_name: CustomizationName = "hostName",
        domain: String = "domain",
    }

    /// The host name is the VM's.
    CustomizationVirtualMachineName {}

    /// The host name is given.
    CustomizationFixedName {
        name: String = "name",
    }

    /// Name servers for all cards.
    CustomizationGlobalIPSettings {
        dns_suffixes: Vec<String> = "dnsSuffixList",
        dns_servers: Vec<String> = "dnsServerList",
    }

    /// The settings of one card; there must be one for each that the VM has, in their order.
    CustomizationAdapterMapping {
        adapter: CustomizationIPSettings = "adapter",
    }

    /// The address of a card.
    CustomizationIPSettings {
        ip: CustomizationIpGenerator = "ip",
        subnet_mask: Option<String> = "subnetMask",
        gateway: Vec<String> = "gateway",
        dns_servers: Vec<String> = "dnsServerList",
    }

    /// Exactly this address.
    CustomizationFixedIp {
        ip_address: String = "ipAddress",
    }

    /// Whatever DHCP gives.
    CustomizationDhcpIpGenerator {}
}

variants! {
    /// What a VM starts from.
    BootableDevice of "VirtualMachineBootOptionsBootableDevice" {
        VirtualMachineBootOptionsBootableCdromDevice,
        VirtualMachineBootOptionsBootableDiskDevice,
        VirtualMachineBootOptionsBootableEthernetDevice,
    }
    /// Options of a kind of guest.
    CustomizationOptions of "CustomizationOptions" { CustomizationLinuxOptions }
    /// Who a guest is.
    CustomizationIdentity of "CustomizationIdentitySettings" { CustomizationLinuxPrep }
    /// Where a host name comes from.
    CustomizationName of "CustomizationName" { CustomizationVirtualMachineName, CustomizationFixedName }
    /// Where an address comes from.
    CustomizationIpGenerator of "CustomizationIpGenerator" { CustomizationFixedIp, CustomizationDhcpIpGenerator }
}
