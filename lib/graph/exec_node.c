/* SPDX-License-Identifier: MIT */
#include "graph/exec_node.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "driver/kernel.h"

/* A node of the new version, and what the item is set to. */
struct node_change {
    struct exec_node *item;
    const struct graph_node *node;
    const struct place *places;
    const struct graph_node *node_before; /* NULL: not known */
    const struct place *places_before;
};

/* --- launches --- */

static void give_kernel(struct exec_node *item) {
    if (!item->kernel)
        return;
    kernel_give_instance(item->kernel, item->instance);
    object_release(&item->kernel->object);
    item->kernel = NULL;
}

static cls_status renew_kernel(struct exec_node *item, struct kernel *kernel) {
    cl_kernel instance;
    cls_status status = kernel_take_instance(kernel, &instance);
    if (status)
        return status;
    give_kernel(item);
    object_retain(&kernel->object);
    item->kernel = kernel;
    item->instance = item->command.u.launch.instance = instance;
    return CLS_SUCCESS;
}

/* The bound buffer has its address already: binding or capture asked for it. */
static cls_status set_exec_address(const struct node_change *setting, unsigned i) {
    uint64_t address;
    cls_status status = buffer_address(setting->places[i].buffer, &address);
    if (status)
        return status;
    address += setting->node->args[i].offset;
    return kernel_set_arg(setting->item->kernel->context->device, setting->item->instance, i,
                          sizeof address, &address);
}

static cls_status set_arg(const struct node_change *setting, unsigned i) {
    const struct device *device = setting->item->kernel->context->device;
    const struct node_arg *arg = &setting->node->args[i];
    cl_kernel instance = setting->item->instance;
    if (arg->kind == CLS_ARG_ADDRESS)
        return set_exec_address(setting, i);
    if (arg->kind != CLS_ARG_IMAGE && arg_is_memory(arg->kind) &&
        kernel_is_pointed(setting->item->kernel, i))
        return kernel_set_pointed(setting->item->kernel, instance, i, setting->places[i].buffer,
                                  arg->kind == CLS_ARG_BUFFER_PART ? arg->offset : 0);
    if (arg_is_memory(arg->kind))
        return kernel_set_arg(device, instance, i, sizeof(cl_mem), &setting->places[i].memory);
    return kernel_set_arg(device, instance, i, arg->size,
                          arg->kind == CLS_ARG_LOCAL ? NULL : setting->node->values + arg->value);
}

static bool is_changed(const struct node_change *setting, unsigned i) {
    return setting->node != setting->node_before ||
           setting->places[i].memory != setting->places_before[i].memory;
}

static cls_status set_launch(const struct node_change *setting) {
    struct exec_node *item = setting->item;
    struct kernel *kernel = setting->node->command.u.launch.kernel;
    const bool is_other = item->kernel != kernel;
    bool changed = is_other || setting->node != setting->node_before, fresh = is_other;
    for (unsigned i = 0; i < node_n_passed(setting->node) && !changed; i++)
        changed = is_changed(setting, i);
    if (!changed)
        return CLS_SUCCESS;
    cls_status status = CLS_SUCCESS;
    if (is_other || !caps_trusts(kernel->context->caps, TRUST_ARGUMENTS_SET_AGAIN)) {
        status = renew_kernel(item, kernel);
        fresh = true;
    }
    for (unsigned i = 0; i < node_n_passed(setting->node) && !status; i++)
        if (fresh || is_changed(setting, i))
            status = set_arg(setting, i);
    return status;
}

/* --- other commands --- */

static cls_status copy_exec_arguments(struct exec_node *item, const struct graph_node *node) {
    const size_t bytes = node->command.u.library.bytes;
    void *arguments = realloc(item->arguments, bytes + 1);
    if (!arguments)
        return error_no_memory("for a node of a graph");
    memcpy(arguments, node->command.u.library.arguments, bytes);
    item->arguments = item->command.u.library.arguments = arguments;
    return CLS_SUCCESS;
}

/* All of the command but what the item has of its own. */
static cls_status copy_command(struct exec_node *item, const struct graph_node *node) {
    item->command = node->command;
    item->command.refs = (struct refs){.count = 0};
    if (node->command.type->capture == CAPTURE_LAUNCH)
        item->command.u.launch.instance = item->instance;
    return node_is_library_call(node) ? copy_exec_arguments(item, node) : CLS_SUCCESS;
}

static cls_status set_item(const struct node_change *setting) {
    const struct graph_node *node = setting->node;
    cls_status status =
        node == setting->node_before ? CLS_SUCCESS : copy_command(setting->item, node);
    if (node->command.type->capture == CAPTURE_LAUNCH)
        return status ? status : set_launch(setting);
    for (unsigned p = 0; p < node_n_places(node) && !status; p++)
        command_set_place(&setting->item->command, node, p, &setting->places[p]);
    return status;
}

/* --- all of them --- */

static cls_status set_all(struct exec_nodes *nodes, const struct graph_version *version) {
    const struct graph_version *before = nodes->version;
    cls_status status = CLS_SUCCESS;
    for (unsigned i = 0; i < nodes->count && !status; i++) {
        struct node_change setting = {.item = &nodes->items[i],
                                      .node = version->nodes[i].node,
                                      .places = graph_version_places(version, i)};
        if (before) {
            setting.node_before = before->nodes[i].node;
            setting.places_before = graph_version_places(before, i);
        }
        status = set_item(&setting);
        nodes->items[i].disabled = version->nodes[i].disabled;
    }
    return status;
}

cls_status exec_nodes_set(struct exec_nodes *nodes, struct graph_version *version) {
    if (nodes->version == version)
        return CLS_SUCCESS;
    if (!nodes->items) {
        nodes->items = calloc((size_t)version->n_nodes + 1, sizeof *nodes->items);
        nodes->count = nodes->items ? version->n_nodes : 0;
        if (!nodes->items)
            return error_no_memory("for a node of a graph");
    }
    /* What they were set to is kept until they are set anew: memory made since then is at other addresses. */
    struct graph_version *before = nodes->version;
    cls_status status = set_all(nodes, version);
    nodes->version = status ? NULL : version;
    if (!status)
        graph_version_retain(version);
    if (before)
        graph_version_put(before);
    return status;
}

void exec_nodes_forget(struct exec_nodes *nodes) {
    if (nodes->version)
        graph_version_put(nodes->version);
    nodes->version = NULL;
}

/* Newest first: some drivers find a kernel by going through those that are younger. */
void exec_nodes_free(struct exec_nodes *nodes) {
    for (unsigned i = nodes->count; i-- > 0;) {
        free(nodes->items[i].arguments);
        give_kernel(&nodes->items[i]);
    }
    free(nodes->items);
    exec_nodes_forget(nodes);
}
